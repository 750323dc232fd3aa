import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The project's root, four folders above the compiled file's. */
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Reads a file of the project; undefined if the gateway was packaged without it. */
export async function readProjectFile(path: string): Promise<string | undefined> {
  return readFile(ROOT + path, 'utf8').catch(noneIfMissing);
}

/** Lists the Markdown files of a folder of the project by name; none if it is missing. */
export async function listMarkdown(folder: string): Promise<string[]> {
  const names = (await readdir(ROOT + folder).catch(noneIfMissing)) ?? [];
  return names.filter((name) => name.endsWith('.md')).sort();
}

function noneIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
}
