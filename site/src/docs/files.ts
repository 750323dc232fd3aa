import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Root folder of the project, four folders above the compiled file. */
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Reads a file of the project; undefined if this installation was packaged without it. */
export async function readProjectFile(path: string): Promise<string | undefined> {
  return readFile(ROOT + path, 'utf8').catch(noneIfMissing);
}

/** Lists the Markdown files of a project folder by name; empty if the folder is missing. */
export async function listMarkdown(folder: string): Promise<string[]> {
  const names = (await readdir(ROOT + folder).catch(noneIfMissing)) ?? [];
  return names.filter((name) => name.endsWith('.md')).sort();
}

function noneIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
}
