import { randomUUID } from 'node:crypto';
import type { Endpoint, Schema } from './endpoints.js';
import type { Call } from './matrix.js';

/** A request that has to be refused: how, and what its error says. */
export interface Attempt {
  readonly about: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** The codes that are right; the first is the best. */
  readonly codes: readonly string[];
  /** What the error has to name. */
  readonly param?: string | undefined;
  readonly status?: number;
}

/** Everything that can be wrong with the request of an endpoint; `call` is right as it is. */
export function attemptsOf(endpoint: Endpoint, call: Call): Attempt[] {
  return [
    ...pathAttempts(endpoint, call),
    ...queryAttempts(endpoint, call),
    ...headerAttempts(endpoint, call),
    ...(endpoint.method === 'GET' ? [] : [...bodyAttempts(endpoint, call), ...fieldAttempts(endpoint, call)]),
  ];
}

const LONG = 'x'.repeat(3000);
const NOT_UUIDS = ['not-a-uuid', '123', `${randomUUID()}0`, randomUUID().slice(1), '%24gt', "'%20OR%201=1--", LONG];
const CONTROL_IDS = [
  '%00',
  '%0A',
  '%ff',
  '%2e%2e%2f',
  '..%2f..%2fetc',
  '%F0%9F%98%80',
  'req_abcdefghijklmnopqrstuvwxyz',
];

function pathAttempts({ method, path, ids }: Endpoint, { path: given, body }: Call): Attempt[] {
  const parts = path.replace('/api/v1', '').split('/');
  const [real = '', query = ''] = given.split('?');
  return ids.flatMap((name) =>
    [...NOT_UUIDS, ...CONTROL_IDS].map((id) => ({
      about: `${name} is ${id.slice(0, 40)}`,
      method,
      path: `${replacePart(real, parts.indexOf(`{${name}}`), id)}${query === '' ? '' : `?${query}`}`,
      codes: ['invalid_id'],
      param: name,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })),
  );
}

function replacePart(path: string, at: number, part: string): string {
  return path
    .split('/')
    .map((one, i) => (i === at ? part : one))
    .join('/');
}

const PAGES = [
  ...['-1', '0', '1.5', 'abc', '1e3', '-0', '%20', '0x10', '99999999999999999999999'].map((limit) => `limit=${limit}`),
  ...['-1', '1.5', 'abc'].map((offset) => `offset=${offset}`),
  'limit=10&limit=20',
  'cursor=not-a-cursor',
  'cursor=eyJhIjoxfQ&offset=1',
  'cursor=%00',
  `cursor=${'a'.repeat(5000)}`,
];

function queryAttempts({ method, query }: Endpoint, { path, body }: Call): Attempt[] {
  const attempt = (about: string, text: string, codes: string[], param?: string): Attempt => ({
    about,
    method,
    path: `${path}${path.includes('?') ? '&' : '?'}${text}`,
    codes,
    ...(param === undefined ? {} : { param }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const attempts = Object.entries(query)
    .filter(([name]) => !PAGE_NAMES.has(name))
    .flatMap(([name, schema]) =>
      wrongTexts(schema).map((value) =>
        attempt(
          `?${name}=${value.slice(0, 40)}`,
          `${name}=${value}`,
          ['invalid_value', 'too_many_items', 'invalid_type'],
          name,
        ),
      ),
    );
  if (method !== 'GET') {
    for (const name of ['unknown', 'Id', '__proto__', 'constructor', '$where', 'a[b]', 'limit']) {
      attempts.push(attempt(`?${name}`, `${encodeURIComponent(name)}=1`, ['unknown_parameter'], name));
    }
  } else if (query.limit !== undefined) {
    for (const text of PAGES) attempts.push(attempt(`?${text.slice(0, 40)}`, text, ['invalid_pagination']));
    for (const text of ['offset=9999&limit=2', 'offset=10000', 'offset=1000000']) {
      attempts.push(attempt(`?${text}`, text, ['offset_too_deep'], 'offset'));
    }
  }
  return attempts;
}

const PAGE_NAMES: ReadonlySet<string> = new Set(['limit', 'offset', 'cursor']);

/** Texts of a query parameter that stand for no value of a schema. */
function wrongTexts(schema: Schema): string[] {
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

function headerAttempts({ method, ids }: Endpoint, { path, body }: Call): Attempt[] {
  const attempt = (name: string, value: string, codes: string[]): Attempt => ({
    about: `${name}: ${value.slice(0, 30)}`,
    method,
    path,
    headers: { [name]: value },
    codes,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const attempts = [
    attempt('X-Tenant', 'everybody', ['invalid_id']),
    attempt('X-Workspace-Id', 'all', ['invalid_id']),
    attempt('X-Workspace-Id', LONG, ['invalid_id']),
  ];
  if (method === 'GET') return attempts;
  for (const key of ['k'.repeat(256), 'k'.repeat(7000), 'a\u00e9b', '"'.repeat(300)]) {
    attempts.push(attempt('Idempotency-Key', key, ['invalid_value']));
  }
  if (method === 'PATCH' && ids.length > 0) {
    for (const etag of ['bogus', 'v1x', '"1"', 'v99999999999999999999', LONG]) {
      attempts.push(attempt('If-Match', etag, ['invalid_value']));
    }
  }
  return attempts;
}

function nested(open: string, close: string, depth: number, core = ''): string {
  return open.repeat(depth) + core + close.repeat(depth);
}

function bodyAttempts({ method, fields }: Endpoint, { path, body = {} }: Call): Attempt[] {
  const right = JSON.stringify(body);
  const attempt = (
    about: string,
    text: string | Uint8Array,
    codes: string[],
    more: Partial<Attempt> = {},
  ): Attempt => ({
    about,
    method,
    path,
    body: text,
    codes,
    ...more,
  });
  const [field = 'a'] = Object.keys(fields);
  const notJson = [
    '{"a":',
    "{'a':1}",
    '{"a":1,}',
    '{"a":1}{"b":2}',
    '{a:1}',
    'NaN',
    '{"a":NaN}',
    '{"a":01}',
    '{"a":"\n"}',
    '\u0000',
    '{"a":"\\x"}',
    '<xml/>',
    '[]',
    '"text"',
    'null',
    'true',
    '12',
    '{} //',
    `${right},`,
    `[${right}]`,
    nested('[', ']', 10_000),
    '['.repeat(10_000),
    nested('{"a":', '}', 10_000, '{}'),
    '{"a":'.repeat(10_000),
    `{"${field}":${nested('[', ']', 10_000)}}`,
    nested('{"a":', '}', 64, '{}'),
    `{"${field}":${nested('[', ']', 64)}}`,
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    `{"a":{"b":1,"b":2}}`,
    `{"a":[{"b":1,"b":2}]}`,
    `{"${field}":null,"${field}":null}`,
  ];
  const foreign = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonp', 'x'];
  return [
    ...notJson.map((text) => attempt(`body ${text.slice(0, 30)}`, text, ['invalid_json'])),
    attempt('body in Latin-1', Buffer.from('{"a":"\xe9"}', 'latin1'), ['invalid_json']),
    attempt('body with an overlong NUL', Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]), [
      'invalid_json',
    ]),
    attempt('body with half a surrogate in UTF-8', Buffer.from('7b2261223a22eda080227d', 'hex'), ['invalid_json']),
    ...foreign.map((type) =>
      attempt(`body as ${type}`, right, ['unsupported_media_type'], { headers: { 'Content-Type': type } }),
    ),
    attempt('64 levels', nested('{"a":', '}', 63, '{}'), ['unknown_field', 'validation_failed'], { param: 'a' }),
    attempt('11 MiB', `{"a":"${'x'.repeat(11 << 20)}"}`, ['payload_too_large']),
  ];
}

const FOREIGN_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '$gt',
  '$where',
  'a.b',
  '',
  'unknown',
  'created_at',
  'access',
  'request_id',
];

function fieldAttempts({ method, path: template, fields, required }: Endpoint, { path, body = {} }: Call): Attempt[] {
  const attempt = (about: string, name: string, json: string, codes: string[], param = name): Attempt => ({
    about,
    method,
    path,
    body: withField(body, name, json),
    codes: [...codes, 'validation_failed', ...(PAGE_NAMES.has(name) ? ['invalid_pagination', 'offset_too_deep'] : [])],
    param,
  });
  const names = [
    ...FOREIGN_NAMES,
    ...Object.keys(fields)
      .filter((name) => name.includes('_'))
      .map(camelCase),
  ];
  const unknown = names
    .filter((name) => !Object.hasOwn(fields, name))
    .map((name) => attempt(`field ${name}`, name, '1', ['unknown_field']));
  const id = attempt('id of another', 'id', JSON.stringify(randomUUID()), ['unknown_field']);
  const wrong = Object.entries(fields).flatMap(([name, schema]) => [
    ...wrongValues(schema).map(([json, codes]) => attempt(`${name}: ${json.slice(0, 40)}`, name, json, codes)),
    ...innerAttempts(name, schema, attempt),
  ]);
  // A PATCH that names nothing else names nothing.
  const absent = method === 'PATCH' ? { codes: ['missing_field', 'no_update_field'], param: undefined } : {};
  const missing = required.map((name) => ({ ...attempt(`${name}: null`, name, 'null', ['missing_field']), ...absent }));
  const versions = template.endsWith('}') || method === 'PATCH' ? ['-1', '1.5', '"1"', '{}'] : [];
  return [
    ...unknown,
    ...(template.includes('{') ? [id] : []),
    ...wrong,
    ...missing,
    ...versions
      .filter(() => method !== 'POST')
      .map((json) => attempt(`base_version: ${json}`, 'base_version', json, ['invalid_value', 'invalid_type'])),
  ];
}

/** Names within an object, which are as strange. */
function innerAttempts(
  name: string,
  schema: Schema,
  attempt: (about: string, name: string, json: string, codes: string[], param?: string) => Attempt,
): Attempt[] {
  if (schema.properties === undefined) return [];
  return ['__proto__', 'constructor', '$gt', 'unknown'].map((key) =>
    attempt(`${name}.${key}`, name, `{${JSON.stringify(key)}:1}`, ['unknown_field'], `${name}.${key}`),
  );
}

/** The JSON of an object with one more field, or with another value of one; for `__proto__` is no name in a literal. */
function withField(body: object, name: string, json: string): string {
  const rest = Object.entries(body).filter(([key]) => key !== name);
  return `{${[...rest.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`), `${JSON.stringify(name)}:${json}`].join(',')}}`;
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
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

/** JSON of values that a field does not take, with the codes that say so. */
function wrongValues(schema: Schema): [json: string, codes: string[]][] {
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
  if (inner !== undefined) {
    const [json = '{}', codes = []] = wrongValues(inner)[0] ?? [];
    lists.push([`[${json}]`, [...codes, 'invalid_type']], ['[null]', ['invalid_type', 'invalid_value']]);
  }
  return lists;
}
