import { isObject } from '@commonplace/kit/json';
import { lazyLibrary } from '@commonplace/kit/library';

const yaml = lazyLibrary<typeof import('yaml')>('yaml', import.meta.url);

/** The front matter of a `SKILL.md`, and the Markdown after it. */
export interface SkillMd {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly license?: string | undefined;
  readonly allowedTools: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly content: string;
}

/** Thrown if a text is not a `SKILL.md`; the message completes the sentence "skill_md …". */
export class NoSkillMd extends Error {}

/** What a text is, or why it is no `SKILL.md`. */
export type ReadSkillMd = { readonly file: SkillMd } | { readonly fault: string };

/** Maximum characters of front matter. YAML of this length can take a second: commas alone, or thousands of keys. */
const MAX_FRONT_MATTER = 16_384;
const FENCE = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** Returns the Markdown of a text without its front matter. */
export function bodyOf(text: string): string {
  const found = FENCE.exec(withoutMark(text));
  return found === null ? text : withoutMark(text).slice(found[0].length).trimStart();
}

/** Parses a `SKILL.md`, or returns why a text is none. */
export function tryReadSkillMd(text: string): ReadSkillMd {
  try {
    return { file: readSkillMd(text) };
  } catch (error) {
    if (error instanceof NoSkillMd) return { fault: error.message };
    throw error;
  }
}

/** Parses a `SKILL.md`. Throws `NoSkillMd` if the front matter is missing or invalid. */
export function readSkillMd(text: string): SkillMd {
  const whole = withoutMark(text);
  const found = FENCE.exec(whole);
  if (found === null) throw new NoSkillMd('must begin with YAML between two lines of three hyphens.');
  const front = readFrontMatter(found[1] ?? '');
  return {
    name: textIn(front, 'name'),
    description: textIn(front, 'description'),
    license: textIn(front, 'license'),
    allowedTools: toolsIn(front['allowed-tools']),
    metadata: metadataIn(front),
    content: whole.slice(found[0].length).trim(),
  };
}

const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');

const OPTIONS = { schema: 'core', merge: false, uniqueKeys: true, prettyErrors: false, logLevel: 'silent' } as const;

/** Parses YAML of the core schema, and refuses custom tags, aliases and duplicate keys; merge keys have no effect. */
function readFrontMatter(text: string): Readonly<Record<string, unknown>> {
  if (text.length > MAX_FRONT_MATTER) throw new NoSkillMd(`has more than ${MAX_FRONT_MATTER} characters of YAML.`);
  let value: unknown;
  try {
    const document = yaml().parseDocument(text, OPTIONS);
    if (document.errors.length > 0 || document.warnings.length > 0) throw new Error();
    value = document.toJS({ maxAliasCount: 0 });
  } catch {
    throw new NoSkillMd('has front matter that is not plain YAML.');
  }
  if (!isObject(value)) {
    throw new NoSkillMd('has front matter that is not a map of names and values.');
  }
  return value as Record<string, unknown>;
}

function textIn(front: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = Object.hasOwn(front, key) ? front[key] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new NoSkillMd(`has a ${key} that is not a text.`);
  return value.trim();
}

/** Reads `allowed-tools`, which is a list, or names separated by spaces or commas. */
function toolsIn(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  const names = typeof value === 'string' ? value.split(/[\s,]+/) : value;
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) {
    throw new NoSkillMd('has allowed-tools that are neither a text nor a list of texts.');
  }
  return names.filter((name) => name !== '');
}

function metadataIn(front: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const compatibility = textIn(front, 'compatibility');
  const given = front.metadata ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) throw new NoSkillMd('has metadata that is not a map.');
  return { ...given, ...(compatibility !== undefined && { compatibility }) };
}
