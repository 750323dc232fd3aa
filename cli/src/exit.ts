/** How the commands end; the numbers from 64 on are those of sysexits.h. */
export const EXIT = {
  ok: 0,
  /** What was asked for is not so: a check of `doctor` failed, or a command could not do its work. */
  failed: 1,
  usage: 64,
  /** A backup that is damaged, incomplete or of a newer version. */
  damaged: 65,
  /** There is nothing where something was to be read. */
  missing: 66,
  /** The target is there already, or holds something. */
  taken: 73,
  config: 78,
} as const;

/** Ends a command with a message for its user and an exit code. */
export class CommandError extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
    this.name = 'CommandError';
  }
}

export const damaged = (message: string): CommandError => new CommandError(EXIT.damaged, message);
