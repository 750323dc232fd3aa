import { writeSync } from 'node:fs';

/**
 * Writes the last line of a process that ends by a failure, as a log event. It is written at once: no buffer survives
 * the end. People at a terminal are told in words instead.
 */
export function writeLastWords(
  event: string,
  fields: Record<string, unknown>,
  isTerminal = process.stderr.isTTY,
): void {
  if (isTerminal) return;
  const line = { level: 'fatal', time: new Date().toISOString(), ...fields, event };
  try {
    writeSync(process.stderr.fd, `${JSON.stringify(line)}\n`);
  } catch {
    // Nobody reads the log any more.
  }
}

/** Returns what a log has of a thrown value. */
export function factsOfError(error: unknown): {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
} {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  return { type: error.name, message: error.message, ...(error.stack !== undefined && { stack: error.stack }) };
}
