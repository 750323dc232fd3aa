import { fitMetadata } from '../common/metadata.js';
import { momentOf } from '../common/text.js';
import { momentOfWhen, readWhen } from '../csv/values.js';
import type { ItemContent } from '../port.js';

/** A property of a page: its name, and its value as one text or several. */
export type Property = readonly [name: string, value: string | readonly string[]];

const CREATED = /^(?:created(?: (?:at|on|time|date))?|creation (?:time|date)|date created)$/i;
const UPDATED = /^(?:last edited(?: (?:at|time))?|last (?:updated|modified)|updated(?: at)?|edited)$/i;
const AUTHOR = /^(?:created by|author|owner)$/i;
const TAGS = /^tags?$/i;

const wordsOf = (value: Property[1]): string[] =>
  (typeof value === 'string' ? value.split(',') : value).flatMap((word) => word.trim() || []);
const textOf = (value: Property[1]): string => (typeof value === 'string' ? value : value.join(', '));

function whenOf(text: string): string | undefined {
  const when = readWhen(text.replace(/^@/, ''), undefined);
  return when === undefined ? momentOf(text) : momentOfWhen(when);
}

/** Converts properties to fields of a page. `left` holds those that do not fit into its metadata. */
export function fromProperties(properties: readonly Property[]): { content: ItemContent; left: Property[] } {
  const find = (pattern: RegExp) => properties.find(([name]) => pattern.test(name))?.[1];
  const created = find(CREATED);
  const updated = find(UPDATED);
  const author = find(AUTHOR);
  const tags = find(TAGS);
  const { metadata, left } = fitMetadata(Object.fromEntries(properties));
  const names = tags === undefined ? [] : wordsOf(tags).filter((word) => word.length <= 64);
  return {
    content: {
      metadata,
      tags: names.length > 0 && names.length <= 50 ? names : undefined,
      createdAt: created === undefined ? undefined : whenOf(textOf(created)),
      updatedAt: updated === undefined ? undefined : whenOf(textOf(updated)),
      author: author === undefined ? undefined : wordsOf(author)[0],
    },
    left: properties.filter(([name]) => left.includes(name)),
  };
}

/** Formats properties that stay in the page's text, one per line. */
export const propertyLines = (properties: readonly Property[]): string[] =>
  properties.map(([name, value]) => `${name}: ${textOf(value)}`);

/** Extracts the lines of properties at the beginning of a page's text; `known` are the columns of its database. */
export function takeProperties(
  text: string,
  known: ReadonlySet<string> | undefined,
): { properties: Property[]; text: string } {
  const end = /\n[ \t]*(?:\n|$)/.exec(`${text}\n`)?.index ?? text.length;
  const properties: [string, string][] = [];
  for (const line of text.slice(0, end).split('\n')) {
    const name = nameOn(line, known);
    const last = properties.at(-1);
    if (name !== undefined) properties.push([name, line.slice(name.length + 1).trim()]);
    else if (last !== undefined && known !== undefined) last[1] += `\n${line}`;
    else return { properties: [], text };
  }
  return { properties, text: text.slice(end).replace(/^\s*\n/, '') };
}

/** Characters that a column's name may have. */
const MAX_NAME = 255;

function nameOn(line: string, known: ReadonlySet<string> | undefined): string | undefined {
  if (known === undefined) return /^([^:\n#>*`|-][^:\n]{0,100}): \S/.exec(line)?.[1];
  // A name may contain colons itself.
  for (let at = line.indexOf(':'); at !== -1 && at <= MAX_NAME; at = line.indexOf(':', at + 1)) {
    if (known.has(line.slice(0, at).trim())) return line.slice(0, at);
  }
  return undefined;
}
