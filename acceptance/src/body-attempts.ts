import { randomUUID } from 'node:crypto';
import { type Attempt, PAGE_NAMES } from './attempt.js';
import type { Endpoint, Schema } from './endpoints.js';
import type { Call } from './matrix.js';
import { wrongValues } from './wrong-values.js';

function nested(open: string, close: string, depth: number, core = ''): string {
  return open.repeat(depth) + core + close.repeat(depth);
}

/** A body that exceeds the limit. It is made once for all endpoints. */
const TOO_LARGE = Buffer.from(`{"a":"${'x'.repeat(11 << 20)}"}`);

/** Returns attempts whose body is not valid JSON, is too deep or too large, or has a media type that is not allowed. */
export function bodyAttempts({ method, fields }: Endpoint, { path, body = {} }: Call): Attempt[] {
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
    `{"${field}":${nested('[', ']', 1_100)}}`,
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
    attempt('11 MiB', TOO_LARGE, ['payload_too_large']),
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

/**
 * Fields that apply to only one type of resource. The service that owns them may refuse them first, whatever they
 * contain.
 */
const CONTENT_FIELDS: ReadonlySet<string> = new Set(['columns', 'rows', 'document']);
const NOT_ITS_CONTENT = ['content_not_supported', 'conflicting_alias'];

/** Returns attempts with a JSON body that has an unknown field or a wrong value. */
export function fieldAttempts(
  { method, path: template, fields, required }: Endpoint,
  { path, body = {} }: Call,
): Attempt[] {
  const attempt = (about: string, name: string, json: string, codes: string[], param = name): Attempt => ({
    about,
    method,
    path,
    body: withField(body, name, json, otherSpelling(fields[name])),
    codes: [
      ...codes,
      'validation_failed',
      ...(PAGE_NAMES.has(name) ? ['invalid_pagination', 'offset_too_deep'] : []),
      ...(CONTENT_FIELDS.has(name) ? NOT_ITS_CONTENT : []),
    ],
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
  // A PATCH with no other field contains no change at all, so another error is accepted too.
  const absent = method === 'PATCH' ? { codes: ['missing_field', 'no_update_field'], param: undefined } : {};
  const missing = required.map((name) => ({
    ...attempt(`${name}: null`, name, 'null', ['missing_field', 'query_required']),
    ...absent,
  }));
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

/** Returns attempts with unknown names within an object. */
function innerAttempts(
  name: string,
  schema: Schema,
  attempt: (about: string, name: string, json: string, codes: string[], param?: string) => Attempt,
): Attempt[] {
  if (schema.properties === undefined || CONTENT_FIELDS.has(name)) return [];
  return ['__proto__', 'constructor', '$gt', 'unknown'].map((key) =>
    attempt(`${name}.${key}`, name, `{${JSON.stringify(key)}:1}`, ['unknown_field'], `${name}.${key}`),
  );
}

/**
 * Returns the JSON of an object with one field added or replaced. It is built as text, because `__proto__` in an object
 * literal is not a field.
 */
function withField(body: object, name: string, json: string, same: string | undefined): string {
  const rest = Object.entries(body).filter(([key]) => key !== name && key !== same);
  return `{${[...rest.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`), `${JSON.stringify(name)}:${json}`].join(',')}}`;
}

/** Returns the field of which a field's schema says that it is another spelling. */
function otherSpelling(schema: Schema | undefined): string | undefined {
  return /^Another spelling of `(\w+)`/.exec(String(schema?.description ?? ''))?.[1];
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
