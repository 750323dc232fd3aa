import { randomUUID } from 'node:crypto';
import type { Schema } from './endpoints.js';

const LONG = 'x'.repeat(3000);

/** Returns texts for a query parameter that its schema does not allow. */
export function wrongTexts(schema: Schema): string[] {
  const types = typesOf(schema);
  if (types.includes('array')) return wrongTexts((schema.items ?? {}) as Schema);
  if (schema.enum !== undefined) return ['bogus', '%00', 'ROOT', '$gt', LONG];
  if (schema.format === 'uuid') return ['bogus', '%00', LONG];
  if (schema.format === 'date-time') return ['bogus', '2026-01-31', '2026-02-30T00:00:00Z', '0'];
  if (types.includes('integer')) return ['bogus', '1.5', ''];
  if (types.includes('boolean')) return ['bogus', '2', 'TRUE', ''];
  if (types.includes('string')) {
    const most = schema.maxLength;
    return ['%00', 'a%00b', ...(typeof most === 'number' ? ['x'.repeat(most + 1)] : [])];
  }
  return [];
}

function typesOf({ type }: Schema): string[] {
  return Array.isArray(type) ? (type as string[]) : typeof type === 'string' ? [type] : [];
}

const BY_TYPE: Readonly<Record<string, string>> = {
  string: '"text"',
  integer: '12',
  number: '12.5',
  boolean: 'true',
  array: '[]',
  object: '{}',
};

/** Returns JSON values that a field does not accept, with the expected error codes. */
export function wrongValues(schema: Schema): [json: string, codes: string[]][] {
  const types = typesOf(schema);
  if (types.length === 0) return [];
  const taken = types.includes('number') ? [...types, 'integer'] : types;
  const others = Object.entries(BY_TYPE).filter(([type]) => !taken.includes(type));
  const values: [string, string[]][] = others.map(([, json]) => [json, ['invalid_type', 'invalid_value']]);
  if (!types.includes('object')) values.push(['{"$gt":""}', ['invalid_type']]);
  if (types.includes('string')) values.push(...wrongStrings(schema));
  if (types.includes('integer') || types.includes('number')) values.push(...wrongNumbers(schema));
  if (types.includes('array')) values.push(...wrongLists(schema));
  return values;
}

function wrongStrings({ enum: choices, format, maxLength, minLength }: Schema): [string, string[]][] {
  const bad: [string, string[]][] = ['"a\\u0000b"', '"\\ud800"', '"\\udc00 x"'].map((json) => [
    json,
    ['invalid_value'],
  ]);
  const wrong: unknown[] = [];
  if (choices !== undefined) wrong.push('bogus', '', 'toString', '__proto__');
  if (format === 'uuid') wrong.push('bogus', '', randomUUID().toUpperCase());
  if (format === 'email') wrong.push('nobody', 'a@', '@b');
  if (format === 'date-time') wrong.push('bogus', '2026-01-31', '2026-02-30T00:00:00Z', '2026-01-31T09:30:00');
  if (typeof maxLength === 'number') wrong.push('x'.repeat(maxLength + 1));
  if (typeof minLength === 'number' && minLength > 0) bad.push(['""', ['invalid_value', 'missing_field']]);
  return [
    ...bad,
    ...wrong.map((value): [string, string[]] => [JSON.stringify(value), ['invalid_value', 'missing_field']]),
  ];
}

function wrongNumbers({ minimum, maximum }: Schema): [string, string[]][] {
  const wrong = ['1e999', '-1e999'];
  if (typeof minimum === 'number') wrong.push(String(minimum - 1));
  if (typeof maximum === 'number') wrong.push(String(maximum + 1));
  return wrong.map((json) => [json, ['invalid_value']]);
}

function wrongLists({ items, maxItems, minItems }: Schema): [string, string[]][] {
  const inner = items as Schema | undefined;
  const lists: [string, string[]][] = [];
  if (typeof minItems === 'number' && minItems > 0) lists.push(['[]', ['invalid_value', 'missing_field']]);
  if (typeof maxItems === 'number') {
    lists.push([JSON.stringify(Array.from({ length: maxItems + 1 }, () => randomUUID())), ['too_many_items']]);
  }
  // Items without a schema may be anything.
  if (inner !== undefined && Object.keys(inner).length > 0) {
    const [json = '{}', codes = ['missing_field']] = wrongValues(inner)[0] ?? [];
    lists.push([`[${json}]`, [...codes, 'invalid_type']], ['[null]', ['invalid_type', 'invalid_value']]);
  }
  return lists;
}
