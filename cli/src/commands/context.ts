import { createProgress, type Progress } from '../progress.js';
import { createScrub } from '../scrub.js';

/** State that the commands share: the settings, the output format, and the exit code. */
export interface Context {
  readonly env: NodeJS.ProcessEnv;
  json: boolean;
  exitCode: number;
}

interface AnswerOptions {
  /** Values that count as secrets besides those of the settings. */
  readonly secrets?: readonly string[];
  /** Set where standard output has something else. */
  readonly toStderr?: boolean;
}

/** Prints a result to standard output, as text or as JSON, without secrets. */
export function answer(
  context: Context,
  forPrograms: object,
  forPeople: readonly string[],
  { secrets = [], toStderr = false }: AnswerOptions = {},
): void {
  const scrub = createScrub(context.env, secrets);
  const text = context.json ? JSON.stringify(scrub(forPrograms), null, 2) : scrub(forPeople).join('\n');
  if (toStderr) console.error(text);
  else console.log(text);
}

/** Returns progress on standard error, so that standard output contains only the result. */
export function progressOf(): Progress {
  return createProgress(process.stderr);
}

/** Returns the examples for a command's help. They may put global options after the command as well. */
export function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

/** Formats a number of bytes: 1234567 → `1.2 MiB`. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
