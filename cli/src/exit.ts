/** Exit codes of the commands. Codes from 64 on are those of sysexits.h. */
export const EXIT = {
  ok: 0,
  /** A check of `doctor` failed, or a command could not do its work. */
  failed: 1,
  usage: 64,
  /** The backup is damaged, incomplete or of a newer version. */
  damaged: 65,
  /** The input does not exist, or what an argument names. */
  missing: 66,
  /** The target exists already, or is not empty. */
  taken: 73,
  config: 78,
} as const;

/** Ends a command with an exit code and a message for the user. */
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

export const noDatabase = (dataDir: string): CommandError =>
  new CommandError(
    EXIT.missing,
    `there is no database in ${dataDir}: name the data folder by --data-dir or COMMONPLACE_DATA_DIR`,
  );
