import { ANALYSER_VERSION } from '@commonplace/kit/analysis';
import type { CollectionCreateSchema } from 'typesense/lib/Typesense/Collections.js';
import { digest } from './tokens.js';

/** Version of the collections. Collections with another version are not read but created again. */
export const STAMP = digest(`2 ${ANALYSER_VERSION}`, 8);

type Field = NonNullable<CollectionCreateSchema['fields']>[number];

const terms = (name: string): Field => ({ name, type: 'string', optional: true });
const value = (name: string, facet = false): Field => ({ name, type: 'string', facet, optional: true });
const values = (name: string, facet = false): Field => ({ name, type: 'string[]', facet, optional: true });
const number = (name: string): Field => ({ name, type: 'int64', optional: true });

/** Fields that entries are filtered by; chunks have the same. */
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
 * Returns the schema of entries. Fields that are not listed, such as the texts and the version, are stored but not
 * searched. All fields are optional, because an entry that is removed during a rebuild leaves a document with only
 * `gone`.
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

/** Returns the schema of the words of all texts, for completing and correcting queries. */
export function wordsSchema(name: string): CollectionCreateSchema {
  return { name, fields: [value('partition'), terms('shape')] };
}

/**
 * Returns the schema of the chunks of all texts with the vectors of one model; they outlive the index that they were
 * created for.
 */
export function chunksSchema(name: string, dimensions: number): CollectionCreateSchema {
  const vector: Field = { name: 'vector', type: 'float[]', num_dim: dimensions };
  return { name, fields: [vector, value('of'), value('kept_for'), ...ACCESS] };
}

/** Returns the schema of models; their descriptions are stored, not searched. */
export function modelsSchema(name: string): CollectionCreateSchema {
  return { name, fields: [value('kind')] };
}

/** Returns the schema of the lease on rebuilding. */
export function locksSchema(name: string): CollectionCreateSchema {
  return { name, fields: [number('until'), value('holder')] };
}
