import type { Faults } from './faults.js';
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
  return plan.keys.has('fields') ? undefined : readFields(input, recordFields, faults);
}

function readFields(input: RequestInput, known: ReadonlySet<string>, faults: Faults): ReadonlySet<string> | undefined {
  const texts = textsOf(input.query.fields);
  if (texts.length === 0) return undefined;
  const names = texts.flatMap((text) => text.split(',')).filter((name) => name !== '');
  if (names.length > 0 && names.every((name) => known.has(name))) return new Set(names);
  return faults.add('fields', 'invalid_value', `must be some of ${[...known].join(', ')}, parted by commas.`);
}
