import { Readable } from 'node:stream';
import {
  type Bundle,
  ImportFault,
  type ItemContent,
  type OpenSource,
  type Source,
  type SourceOptions,
} from '../../../src/imports/sources/port.js';

/** Creates a bundle in memory from texts and bytes by path. */
export function bundleOf(files: Readonly<Record<string, string | Buffer>>): Bundle {
  const bytes = new Map(Object.entries(files).map(([path, file]) => [path, Buffer.from(file as string)]));
  const need = (path: string): Buffer => {
    const file = bytes.get(path);
    if (file === undefined) throw new ImportFault('archive_entry_missing', `There is no ${path}.`);
    return file;
  };
  const entries = [...bytes].map(([path, { length }]) => ({ path, sizeBytes: length }));
  return {
    entries,
    entry: (path) => entries.find((entry) => entry.path === path),
    open: async (path) => Readable.from([need(path)]),
    read: async (path, limit) => {
      const file = need(path);
      if (file.length > limit) throw new ImportFault('entry_too_large', `${path} is larger than ${limit} bytes.`);
      return file;
    },
  };
}

/** Formats items as lines, each indented below its parent: `document Title`. */
export function treeOf({ items }: Source): string[] {
  const depths = new Map<string, number>();
  return items.map(({ path, parent, kind, name }) => {
    const above = parent === undefined ? -1 : depths.get(parent);
    if (above === undefined) throw new Error(`${path} stands before its parent ${parent}`);
    depths.set(path, above + 1);
    return `${'  '.repeat(above + 1)}${kind} ${name}`;
  });
}

export interface ReadSource {
  readonly source: Source;
  /** Content of each item, or its fault, by path. */
  readonly contents: ReadonlyMap<string, ItemContent | ImportFault>;
  content(path: string): ItemContent;
}

/** Opens a source and reads all of it. Errors other than `ImportFault` fail the test. */
export async function readAll(
  open: OpenSource,
  files: Readonly<Record<string, string | Buffer>>,
  options: SourceOptions = {},
): Promise<ReadSource> {
  const source = await open(bundleOf(files), options);
  const contents = new Map<string, ItemContent | ImportFault>();
  expectUnique(source);
  for (const item of source.items) {
    try {
      contents.set(item.path, await source.read(item));
    } catch (error) {
      if (!(error instanceof ImportFault)) throw error;
      contents.set(item.path, error);
    }
  }
  return {
    source,
    contents,
    content(path) {
      const content = contents.get(path);
      if (content === undefined) throw new Error(`no ${path} among ${[...contents.keys()].join(', ')}`);
      if (content instanceof ImportFault) throw content;
      return content;
    },
  };
}

function expectUnique({ items, skipped }: Source): void {
  const paths = new Set([...items, ...skipped].map(({ path }) => path));
  if (paths.size !== items.length + skipped.length) throw new Error('two items, or one that is skipped, have one path');
}

/** Returns the code of the fault that a promise rejects with, or `none`. */
export async function faultOf(doing: Promise<unknown>): Promise<string> {
  try {
    await doing;
    return 'none';
  } catch (error) {
    if (error instanceof ImportFault) return error.code;
    throw error;
  }
}

/** Returns the words of HTML, for comparing a source with its import. */
export const wordsOf = (html: string): string[] =>
  html
    .replace(/<(script|style|head|title)[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&amp;/g, '&')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&nbsp;|\u00a0/g, ' ')
    .split(/\s+/)
    .filter((word) => word !== '');

/** Returns the target of an item's link. */
export function linkOf(source: Source, from: string, href: string): string {
  const item = source.items.find(({ path }) => path === from);
  if (item === undefined) throw new Error(`no item ${from}`);
  const target = source.resolve(item, href);
  return 'item' in target ? target.item : (Object.keys(target)[0] ?? '');
}
