import { createProgress, type Progress } from '../progress.js';
import { createScrub } from '../scrub.js';

/** The state that all commands share: environment, output format and exit code. */
export interface Context {
  readonly env: NodeJS.ProcessEnv;
  json: boolean;
  exitCode: number;
}

interface AnswerOptions {
  /** Secret values to hide besides those in the settings. */
  readonly secrets?: readonly string[];
  /** Set if standard output contains something else. */
  readonly toStderr?: boolean;
}

/** Prints a result to standard output, as text or as JSON, with all secrets hidden. */
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

/** Creates the progress display on standard error, so that standard output contains only the result. */
export function progressOf(): Progress {
  return createProgress(process.stderr);
}

/** Formats the examples in a command's help. */
export function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

/** Formats a number of bytes: 1234567 → `1.2 MiB`. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
