import { randomUUID } from 'node:crypto';
import { type Attempt, PAGE_NAMES } from './attempt.js';
import { bodyAttempts, fieldAttempts } from './body-attempts.js';
import type { Endpoint } from './endpoints.js';
import type { Call } from './matrix.js';
import { wrongTexts } from './wrong-values.js';

/** Returns invalid variants of a valid request `call` to an endpoint. */
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
  // Tokens are left out, because a malformed token is answered as not found, like an unknown one.
  const named = ids.filter((name) => name !== 'token');
  return named.flatMap((name) =>
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
  } else if (query.offset !== undefined) {
    for (const text of PAGES) attempts.push(attempt(`?${text.slice(0, 40)}`, text, ['invalid_pagination']));
    for (const text of ['offset=9999&limit=2', 'offset=10000', 'offset=1000000']) {
      attempts.push(attempt(`?${text}`, text, ['offset_too_deep'], 'offset'));
    }
  }
  return attempts;
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
  for (const key of ['', 'k'.repeat(256), 'k'.repeat(7000), 'a\u00e9b', '"'.repeat(300)]) {
    attempts.push(attempt('Idempotency-Key', key, ['invalid_value']));
  }
  if (method === 'PATCH' && ids.length > 0) {
    for (const etag of ['bogus', 'v1x', '"1"', 'v99999999999999999999', LONG]) {
      attempts.push(attempt('If-Match', etag, ['invalid_value']));
    }
  }
  return attempts;
}
