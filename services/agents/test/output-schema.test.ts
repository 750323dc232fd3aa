import { afterAll, expect, test } from '@jest/globals';
import { OutputCheck } from '../src/engine/output-check.js';
import { checkOutputSchema } from '../src/runs/output-schema.js';
import { openSchemaChecks } from '../src/schemas/index.js';

/** These tests cover which schemas for results of runs are accepted, and how results are checked against them. */

const schemas = openSchemaChecks();
afterAll(() => schemas.close());

const check = (schema: unknown) => checkOutputSchema(Buffer.from(JSON.stringify(schema)));
const checkOf = (schema: unknown) => new OutputCheck(check(schema), schemas, 't');

/** Each level applies the next one twice to the same value. */
function doubling(levels: number): object {
  const twice = (i: number) => ({ allOf: [{ $ref: `#/$defs/d${i}` }, { $ref: `#/$defs/d${i}` }] });
  const levelsOf = Array.from({ length: levels }, (_, i) => [
    `d${i}`,
    i + 1 < levels ? twice(i + 1) : { type: 'object' },
  ]);
  return { ...twice(0), $defs: Object.fromEntries(levelsOf) };
}

test.each<[string, object]>([
  [
    'a property that is called like a keyword',
    { properties: { pattern: { type: 'string' }, $ref: { type: 'number' } } },
  ],
  ['a constant that looks like a reference', { enum: [{ $ref: 'https://example.org/s' }], default: { pattern: 1 } }],
  ['a regular expression', { type: 'string', pattern: '^a+$' }],
  ['a tree', { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } } }],
  ['an anchor', { $ref: '#leaf', $defs: { leaf: { $anchor: 'leaf', type: 'string' } } }],
  ['the address of the dialect', { $schema: 'https://json-schema.org/draft/2020-12/schema', type: ['object', 'null'] }],
  ['schemas that are true or false', { properties: { any: true, none: false }, additionalProperties: false }],
  ['a keyword that is not known', { type: 'object', 'x-order': ['b', 'a'] }],
])('accepts %s', (_, schema) => {
  expect(check(schema)).toEqual(schema);
});

test.each<[string, object]>([
  ['another document', { properties: { a: { $ref: 'https://example.org/s' } } }],
  ['another document by a relative address', { $id: 'https://example.org/s', items: { $ref: 'other.json' } }],
  ['nothing', { $ref: '#/$defs/none' }],
  ['an anchor that is not there', { $ref: '#none' }],
  ['itself for the same value', { allOf: [{ $ref: '#' }] }],
  ['a type that there is not', { type: 'banana' }],
  ['a type that is no name', { items: { type: 5 } }],
  ['a list of properties', { properties: ['a'] }],
  ['a name instead of a list', { required: 'a' }],
  ['a negative length', { minLength: -1 }],
  ['no regular expression', { pattern: '(' }],
  ['a schema that is a text', { additionalProperties: 'no' }],
  ['an empty choice', { anyOf: [] }],
])('refuses %s', (_, schema) => {
  expect(() => check(schema)).toThrow(expect.objectContaining({ reason: 'invalid_output_schema' }));
});

test('refuses a schema that doubles the work with each level', () => {
  expect(() => check(doubling(40))).toThrow(expect.objectContaining({ reason: 'invalid_output_schema' }));
});

test('checks an answer against the schema', async () => {
  const output = checkOf({ type: 'object', properties: { pattern: { pattern: '^a+$' } } });
  expect(await output.read('{"pattern": "aa"}')).toEqual({ value: { pattern: 'aa' } });
  expect(await output.read('{"pattern": "b"}')).toBeUndefined();
  expect(await output.faultIn('{"pattern": "b"}')).toContain('#/pattern');
});

test('a regular expression that never ends does not block the process', async () => {
  const output = checkOf({ type: 'string', pattern: '^(a+)+$' });
  const text = JSON.stringify(`${'a'.repeat(60)}!`);
  expect(await output.read(text)).toBeUndefined();
  expect(await output.faultIn(text)).toContain('too long');
});

test('an answer of a fence and line breaks is read in one pass', async () => {
  const output = checkOf({ type: 'number' });
  expect(await output.read(`\`\`\`json\n${'\n'.repeat(300_000)}7\n\`\`\` \n`)).toEqual({ value: 7 });
  expect(await output.read(`\`\`\`\n${'\n'.repeat(300_000)}`)).toBeUndefined();
  for (const text of ['7', ' 7\n', '```\n7\n```', '```json  \n 7 \n  ```']) {
    expect([text, await output.read(text)]).toEqual([text, { value: 7 }]);
  }
});
