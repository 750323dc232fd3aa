/** Why a file gave no thumbnail or text. All but `closed` are the file's own fault: another try ends the same way. */
export const MEDIA_REASONS = [
  'unsupported_type',
  'too_large',
  'broken',
  'encrypted',
  'suspicious',
  'timeout',
  'out_of_memory',
  'crashed',
  'closed',
] as const;

export type MediaReason = (typeof MEDIA_REASONS)[number];

/** The one error of this library. Its message is for logs: it may hold words of a parser, never of the file's text. */
export class MediaFailure extends Error {
  override readonly name = 'MediaFailure';
  readonly reason: MediaReason;

  constructor(reason: MediaReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
