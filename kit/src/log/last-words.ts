import { writeSync } from 'node:fs';

/**
 * Writes the last log line of a process that fails. Writes synchronously, because no buffer outlives the process. On a
 * terminal, writes plain text for people instead.
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
    // Standard error is closed, so the line has no reader.
  }
}

/** Returns the log fields of a thrown value. */
export function factsOfError(error: unknown): {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
} {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  return { type: error.name, message: error.message, ...(error.stack !== undefined && { stack: error.stack }) };
}
