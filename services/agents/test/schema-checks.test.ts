import { afterAll, expect, test } from '@jest/globals';
import { openSchemaChecks } from '../src/schemas/index.js';

const schemas = openSchemaChecks();
afterAll(() => schemas.close());

const SCHEMA = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
const ENDLESS = { a: `${'a'.repeat(60)}!` };

test('a check that takes long leaves the event loop to others', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const fault = await schemas.faultIn('t', SCHEMA, ENDLESS);
  clearImmediate(timer);
  expect(fault).toContain('too long');
  expect(turns).toBeGreaterThan(100);
});

test('others are checked at the same time and afterwards', async () => {
  const [slow, quick] = await Promise.all([
    schemas.faultIn('t', SCHEMA, ENDLESS),
    schemas.faultIn('u', SCHEMA, { a: 'aaa' }),
  ]);
  expect([slow, quick]).toEqual([expect.stringContaining('too long'), undefined]);
  expect(await schemas.faultIn('t', SCHEMA, { a: 1 })).toContain('#/a');
});
