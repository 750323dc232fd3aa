import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sitePage } from './site.js';

/** In the project's root, four folders above the compiled file's. */
const FILE = fileURLToPath(new URL('../../../../CHANGELOG.md', import.meta.url));

/** The project's changelog; undefined where the gateway was packaged without it. */
export async function readChangelog(file = FILE): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

const PATH = '/docs/changelog';

/** The changelog as it is written. */
export function changelogPage(markdown: string): string {
  const text = markdown.replace(/^# .*\n+/, '');
  return sitePage({
    title: 'Changelog',
    path: PATH,
    children: [<h1 key="title">Changelog</h1>, <pre key="text">{text}</pre>],
  });
}

export function noChangelogPage(): string {
  return sitePage({
    title: 'Changelog',
    path: PATH,
    children: [<h1 key="title">Changelog</h1>, <p key="text">This server comes without one.</p>],
  });
}
