// Compares the schema of settings with the parsers of the processes, by values at the limits of each.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { everyTable, moduleOf, NAMES, processTable } from './facts.mjs';
import { CHART } from './tools.mjs';

const USUAL = [
  '',
  '0',
  '1',
  '-1',
  '1.5',
  '2',
  '7',
  '64',
  '1000',
  'true',
  'Off',
  'off',
  'maybe',
  'a,b',
  'a=b',
  '10.0.0.0/8',
];
const URLS = [
  'http://a',
  'https://a.example:8443/b?c=d',
  'https://',
  'https://a:99999',
  'ftp://a',
  'a.example',
  '[::1]:53',
];

/** Returns the variables whose schema accepts a text that the process would refuse at its start. */
export async function looserThanParsers() {
  const schema = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'));
  const faults = compare('embedded', schema.properties.embedded.properties.env, await everyTable());
  for (const name of NAMES) {
    const { env } = schema.properties.services.properties[name].properties;
    faults.push(...compare(name, env, { ...(await processTable()), ...(await moduleOf(name)).config }));
  }
  return faults;
}

function compare(process, env, table) {
  const parsers = new Map(Object.values(table).map(({ variable, parse }) => [variable, parse]));
  return Object.entries(env.properties).flatMap(([variable, schema]) =>
    [...USUAL, ...URLS, ...edges(schema)]
      .filter((text) => text !== '' && accepts(schema, text) && !parses(parsers.get(variable), text))
      .map((text) => `${process}: ${variable} of ${text}`),
  );
}

function edges({ minimum, maximum, enum: choices = [] }) {
  const numbers = [minimum, maximum].filter((number) => number !== undefined);
  return [...choices, ...numbers.flatMap((number) => [number - 1, number, number + 1]).map(String)];
}

/** Returns whether a schema accepts a text. It supports the kinds of schemas that variables have. */
function accepts({ type, enum: choices, pattern, allOf = [] }, text) {
  if (type !== undefined && ![type].flat().includes('string')) return false;
  if (choices !== undefined && !choices.includes(text)) return false;
  if (pattern !== undefined && !new RegExp(pattern).test(text)) return false;
  return allOf.every((schema) => accepts(schema, text));
}

function parses(parse, text) {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}
