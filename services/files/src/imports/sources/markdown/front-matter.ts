import { isObject } from '@commonplace/kit/json';
import { lazyLibrary } from '@commonplace/kit/library';

const yaml = lazyLibrary<typeof import('yaml')>('yaml', import.meta.url);

export interface FrontMatter {
  /** Parsed values; absent when there are none or they can't be parsed. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Characters before the text begins. */
  readonly length: number;
  /** Why it can't be parsed. */
  readonly fault?: string;
}

const BLOCK = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/;

/** Parses the YAML at the beginning of a page. */
export function frontMatterOf(text: string): FrontMatter {
  const found = text.startsWith('---') || text.startsWith('\uFEFF---') ? BLOCK.exec(text) : null;
  if (found === null) return { length: 0 };
  const { length } = found[0];
  try {
    const values: unknown = yaml().parse(found[1] ?? '', { logLevel: 'silent' });
    return isObject(values) ? { values: safe(values), length } : { length };
  } catch (error) {
    return { length, fault: `The front matter can’t be read: ${(error as Error).message.split('\n')[0]}` };
  }
}

/** Converts values to plain JSON values. */
function safe(values: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(values)) as Record<string, unknown>;
}

/** Returns the length in characters of the front matter at the beginning of a page. */
export function frontMatterLength(text: string): number {
  return text.startsWith('---') || text.startsWith('\uFEFF---') ? (BLOCK.exec(text)?.[0].length ?? 0) : 0;
}
