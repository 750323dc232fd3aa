import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sitePage } from './site.js';

/** Path of the changelog in the project's root, four folders above the compiled file's. */
const FILE = fileURLToPath(new URL('../../../../CHANGELOG.md', import.meta.url));

/** Returns the project's changelog; undefined if the gateway was packaged without it. */
export async function readChangelog(file = FILE): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

const PATH = '/docs/changelog';

/** Renders the changelog as plain text. */
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
