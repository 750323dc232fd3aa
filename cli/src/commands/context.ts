import { createProgress, type Progress } from '../progress.js';
import { createScrub } from '../scrub.js';

/** What commands share: the settings, how to answer, and how it ends. */
export interface Context {
  readonly env: NodeJS.ProcessEnv;
  json: boolean;
  exitCode: number;
}

/** Prints an answer on standard output, for people or for programs, without a secret in it. */
export function answer(context: Context, forPrograms: object, forPeople: readonly string[], more: string[] = []): void {
  const scrub = createScrub(context.env, more);
  console.log(context.json ? JSON.stringify(scrub(forPrograms), null, 2) : scrub(forPeople).join('\n'));
}

/** Progress goes to standard error, so that standard output is the answer alone. */
export function progressOf(): Progress {
  return createProgress(process.stderr);
}

/** Options of all commands stand behind the command as well. */
export function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

/** 1234567 → `1.2 MiB`. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
