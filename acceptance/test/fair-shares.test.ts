import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type Person, signUp } from '../src/people.js';
import type { Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/** Number of requests that may wait, and number that are sent at the same time. */
const WAITING = 3;
const BURST = 40;

let system: OwnSystem;
let busy: Person;
let other: Person;
/** A document of the person who sends bursts. */
let page: string;

beforeAll(async () => {
  system = await startSystem({
    // Any work counts as busy, so that the test needs no load.
    COMMONPLACE_SHARE_UTILIZATION: '1',
    COMMONPLACE_RATE_LIMITS: `default=off,write=off,concurrent=off,tenant_waiting=${WAITING}`,
    COMMONPLACE_SIGN_UP: 'open',
  });
  busy = await signUp(system, 'Busy');
  other = await signUp(system, 'Other');
  const workspace = (await busy.post<Workspace>('/workspaces', { name: 'Pages' })).data;
  const fields = { type: 'document', name: 'Page', workspace_id: workspace.id, content: 'words '.repeat(100_000) };
  page = (await busy.post<{ readonly id: string }>('/resources', fields)).data.id;
});
afterAll(() => system?.stop());

/** Sends requests of a person at the same time. Returns their answers. */
const burst = (by: Api) => Promise.all(Array.from({ length: BURST }, () => by.get(`/resources/${page}/content`)));

test('a tenant that sends many requests waits for itself and is told so, while another is answered', async () => {
  // The share of a tenant adapts within some hundred milliseconds in which both send requests.
  const answers = await eventually(async () => {
    const [all, ...others] = await Promise.all([burst(busy), ...Array.from({ length: 3 }, () => other.get('/me'))]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200, 429]));
    return all;
  }, 30_000);
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(WAITING);
  for (const { error, headers } of refused) {
    expect(error).toMatchObject({ type: 'rate_limit', code: 'concurrency_limited', retryable: true });
    expect(error.details).toMatchObject({ policy: 'tenant_waiting', limit: WAITING, reason: 'concurrency' });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
}, 60_000);

test('a tenant that is alone does not wait', async () => {
  await eventually(async () => {
    expect(new Set((await burst(busy)).map(({ status }) => status))).toEqual(new Set([200]));
  }, 30_000);
}, 60_000);
