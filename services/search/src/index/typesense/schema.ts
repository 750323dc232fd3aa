import type { CollectionCreateSchema } from 'typesense/lib/Typesense/Collections.js';
import { ANALYSER_VERSION } from '../../domain/analysis.js';
import { digest } from './tokens.js';

/** Collections with another stamp are not read; they are made anew. */
export const STAMP = digest(`2 ${ANALYSER_VERSION}`, 8);

type Field = NonNullable<CollectionCreateSchema['fields']>[number];

const terms = (name: string): Field => ({ name, type: 'string', optional: true });
const value = (name: string, facet = false): Field => ({ name, type: 'string', facet, optional: true });
const values = (name: string, facet = false): Field => ({ name, type: 'string[]', facet, optional: true });
const number = (name: string): Field => ({ name, type: 'int64', optional: true });

/** By which entries are chosen; chunks have the same. */
const ACCESS: readonly Field[] = [
  value('workspace', true),
  value('boundary'),
  values('ancestors'),
  values('below'),
  values('principals'),
  value('type', true),
  values('tags', true),
  value('created_by', true),
  values('metadata'),
  number('updated'),
];

/**
 * Entries. What a field is not named for here is kept and given back, not searched: the texts themselves, the
 * version. All is optional: what was removed while a rebuild runs leaves a document with `gone` alone.
 */
export function entriesSchema(name: string): CollectionCreateSchema {
  const searched = ['name', 'text', 'comments'].flatMap((field) => [`${field}_terms`, `${field}_parts`]).map(terms);
  const own = [
    value('partition'),
    values('embedded'),
    number('written'),
    number('chance'),
    { name: 'gone', type: 'bool', optional: true } as Field,
  ];
  return { name, fields: [...searched, ...ACCESS, ...own] };
}

/** The words of all texts, for completing and correcting what is typed. */
export function wordsSchema(name: string): CollectionCreateSchema {
  return { name, fields: [value('partition'), terms('shape')] };
}

/** The chunks of all texts with the vectors of one model; they outlive the index that they were put for. */
export function chunksSchema(name: string, dimensions: number): CollectionCreateSchema {
  const vector: Field = { name: 'vector', type: 'float[]', num_dim: dimensions };
  return { name, fields: [vector, value('of'), value('kept_for'), ...ACCESS] };
}

/** What is there for each model: its own description is kept, not searched. */
export function modelsSchema(name: string): CollectionCreateSchema {
  return { name, fields: [value('kind')] };
}

/** Who may rebuild. */
export function locksSchema(name: string): CollectionCreateSchema {
  return { name, fields: [number('until'), value('holder')] };
}
