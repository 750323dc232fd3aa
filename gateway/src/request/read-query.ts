import type { Faults } from '@commonplace/kit/errors';
import { requireField } from './message.js';
import { type Endpoint, queryOf, type Reading, type RequestInput, textsOf } from './reading.js';

/** Reads the query of a GET and ignores unknown parameters. Returns the names that `fields` lists. */
export function readQuery(endpoint: Endpoint, { input, message, faults }: Reading): ReadonlySet<string> | undefined {
  const { plan, pathFields, recordFields } = endpoint;
  for (const [key, texts] of queryOf(input)) {
    const field = plan.keys.get(key);
    if (field === undefined || pathFields.includes(field)) continue;
    message[field.local] = field.fromQuery?.(texts, key, faults);
  }
  for (const field of plan.fields) {
    if (!pathFields.includes(field)) requireField(field, input.query, '', faults);
  }
  if (!plan.keys.has('include')) requireNoFurtherInclude(input, recordFields, faults);
  return plan.keys.has('fields') ? undefined : readFields(input, recordFields, faults);
}

/** Reports an `include` for an endpoint that has nothing to add, unless its records have these fields anyway. */
function requireNoFurtherInclude(input: RequestInput, present: ReadonlySet<string>, faults: Faults): void {
  const names = textsOf(input.query.include).flatMap((text) => text.split(','));
  const isKnown = names.every((name) => name === '' || present.has(name));
  if (!isKnown) faults.add('include', 'invalid_value', 'names nothing that can be included here.');
}

function readFields(input: RequestInput, known: ReadonlySet<string>, faults: Faults): ReadonlySet<string> | undefined {
  const texts = textsOf(input.query.fields);
  if (texts.length === 0) return undefined;
  const names = texts.flatMap((text) => text.split(',')).filter((name) => name !== '');
  if (names.length > 0 && names.every((name) => known.has(name))) return new Set(names);
  return faults.add('fields', 'invalid_value', `must be a comma-separated list of these: ${[...known].join(', ')}.`);
}
