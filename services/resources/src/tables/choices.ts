import type { Choice, Column } from './column.js';

/** Finds the choices of a select column by id and by name. */
interface ChoiceIndex {
  /** Names by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Ids by name; the first of equal names. */
  readonly ids: ReadonlyMap<string, string>;
}

const NONE: readonly Choice[] = [];
const indexes = new WeakMap<readonly Choice[], ChoiceIndex>();

/** Returns the index of a column's choices, which is made once: a write may look up a choice for each cell. */
function indexOf({ options: { choices = NONE } }: Pick<Column, 'options'>): ChoiceIndex {
  const known = indexes.get(choices);
  if (known !== undefined) return known;
  const names = new Map(choices.map(({ id, name }) => [id, name]));
  const ids = new Map<string, string>();
  for (const { id, name } of choices) if (!ids.has(name)) ids.set(name, id);
  const made = { names, ids };
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
