/**
 * Reasons why a file gave no thumbnail or text. For all but `closed` the file itself is the cause: a retry fails as
 * well.
 */
const MEDIA_REASONS = [
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

/**
 * The only error of this library. Its message is for logs: it may contain words of a parser, but never the file's text.
 */
export class MediaFailure extends Error {
  override readonly name = 'MediaFailure';
  readonly reason: MediaReason;

  constructor(reason: MediaReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
