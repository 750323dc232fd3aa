import { readText } from '../common/text.js';
import type { Bundle, Entry, ItemContent } from '../port.js';
import { type FrontMatter, frontMatterOf } from './front-matter.js';

/** Maximum bytes of a page that are read; the limit of a document is lower. */
const PAGE_BYTES = 16 * 1024 * 1024;

/** Reads a page and the metadata in its front matter. The text is unchanged and includes the front matter. */
export async function readPage(bundle: Bundle, entry: Entry): Promise<ItemContent> {
  const markdown = await readText(bundle, entry.path, PAGE_BYTES);
  const matter = frontMatterOf(markdown);
  return {
    ...titled(matter, markdown),
    ...(matter.values === undefined ? {} : { metadata: matter.values }),
    ...known('tags', namesIn(matter.values?.tags ?? matter.values?.keywords)),
    ...known('icon', textIn(matter.values?.icon)),
    ...known('description', textIn(matter.values?.description ?? matter.values?.summary)?.slice(0, 2000)),
    ...known('author', textIn(matter.values?.author)),
    ...known('createdAt', timeIn(matter.values, ['date', 'created', 'created_at'])),
    ...known('updatedAt', timeIn(matter.values, ['updated', 'updated_at', 'lastmod', 'modified']) ?? entry.modifiedAt),
    markdown,
    wikiLinks: true,
    ...(matter.fault === undefined ? {} : { warnings: [matter.fault] }),
  };
}

function known<K extends keyof ItemContent>(key: K, value: ItemContent[K] | undefined): Partial<ItemContent> {
  return value === undefined ? {} : { [key]: value };
}

/** Returns the title from the front matter, else the first heading if the page begins with one. */
function titled({ values, length }: FrontMatter, markdown: string): Partial<ItemContent> {
  const heading = /^\s*#[ \t]+([^\n]+)/.exec(markdown.slice(length, length + 2000))?.[1];
  return known('title', textIn(values?.title) ?? (heading === undefined ? undefined : headingText(heading)));
}

/** Returns a heading as plain text, without Markdown syntax. */
export function headingText(heading: string): string | undefined {
  const text = heading
    .replace(/[ \t]+#*[ \t\r]*$/, '')
    .replace(/\s*\{#[^}]*\}$/, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]+>/g, '')
    .replace(/(\*\*|__|`)/g, '')
    .replace(/\\([^\w\s])/g, '$1')
    .trim();
  return text === '' ? undefined : text;
}

function textIn(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** Parses a list of names, or a comma-separated text. */
function namesIn(value: unknown): readonly string[] | undefined {
  const list = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [];
  const names = list.flatMap((one) => textIn(one) ?? []);
  return names.length === 0 ? undefined : names;
}

function timeIn(values: FrontMatter['values'], keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = values?.[key];
    const at = typeof value === 'string' && /^\d{4}-\d\d/.test(value) ? Date.parse(value) : Number.NaN;
    if (!Number.isNaN(at)) return new Date(at).toISOString();
  }
  return undefined;
}
