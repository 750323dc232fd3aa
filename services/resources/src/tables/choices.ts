import type { Choice, Column } from './column.js';

/** Finds the choices of a select column by id and by name. */
interface ChoiceIndex {
  /** Names by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Ids by name; the first of equal names. */
  readonly ids: ReadonlyMap<string, string>;
  /** The greatest number of commas in a name, as far as a list of names is read for it. */
  readonly commas: number;
}

/** Commas of a name up to which it is found in a list of names: each of them costs a look-up for each part of the list. */
const MAX_COMMAS = 8;

const NONE: readonly Choice[] = [];
const indexes = new WeakMap<readonly Choice[], ChoiceIndex>();

/** Returns the index of a column's choices, which is made once: a write may look up a choice for each cell. */
function indexOf({ options: { choices = NONE } }: Pick<Column, 'options'>): ChoiceIndex {
  const known = indexes.get(choices);
  if (known !== undefined) return known;
  const names = new Map(choices.map(({ id, name }) => [id, name]));
  const ids = new Map<string, string>();
  for (const { id, name } of choices) if (!ids.has(name)) ids.set(name, id);
  const commas = Math.min(MAX_COMMAS, Math.max(0, ...choices.map(({ name }) => name.split(',').length - 1)));
  const made = { names, ids, commas };
  indexes.set(choices, made);
  return made;
}

/** Finds a choice by id, else by name, and returns its id. */
export function choiceId(column: Pick<Column, 'options'>, text: string): string | undefined {
  const { names, ids } = indexOf(column);
  return names.has(text) ? text : ids.get(text.trim());
}

/** Returns the name of a choice by its id. */
export function choiceName(column: Pick<Column, 'options'>, id: string): string | undefined {
  return indexOf(column).names.get(id);
}

/** Splits a list of names at its commas. A choice whose name has commas is found as a whole, the longest one first. */
export function splitChoices(column: Pick<Column, 'options'>, text: string): string[] {
  const { ids, commas } = indexOf(column);
  const parts = text.split(',');
  const found: string[] = [];
  for (let at = 0; at < parts.length; ) {
    let length = Math.min(commas + 1, parts.length - at);
    while (length > 1 && !ids.has(joined(parts, at, length))) length -= 1;
    const name = joined(parts, at, length);
    if (name !== '') found.push(name);
    at += length;
  }
  return found;
}

const joined = (parts: readonly string[], at: number, length: number): string =>
  parts
    .slice(at, at + length)
    .join(',')
    .trim();
