import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api, type Reply } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newAddress, newKey, PASSWORD, type Person, signIn } from '../src/people.js';
import type { Org, Resource, Workspace } from '../src/records.js';
import { mode, type OwnSystem, startSystem } from '../src/system.js';

const [TRIES, MEMBERS, RESOURCES, SESSIONS, SIGN_UPS, GUESSES] = [4, 10, 50, 5, 6, 10];

const withServers = mode === 'mesh' ? test : test.skip;
let system: OwnSystem;
/** The gateways of both replicas. */
let gateways: readonly { readonly baseUrl: string }[];
let owner: Person;

beforeAll(async () => {
  if (mode !== 'mesh') return;
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_SIGN_IN_TRIES: String(TRIES),
    COMMONPLACE_SIGN_UPS_PER_NETWORK: String(SIGN_UPS),
    COMMONPLACE_SESSIONS_PER_PERSON: String(SESSIONS),
    COMMONPLACE_ORG_MEMBERS: String(MEMBERS),
    COMMONPLACE_WORKSPACE_RESOURCES: String(RESOURCES),
    COMMONPLACE_PUBLICATION_PASSWORD_TRIES: String(GUESSES),
    // This machine acts as a proxy for clients of any address.
    COMMONPLACE_TRUSTED_PROXIES: '127.0.0.1',
    COMMONPLACE_RATE_LIMITS: ['default', 'write', 'visitor'].map((policy) => `${policy}=off`).join(),
  });
  gateways = [system, await system.replicate()];
  owner = await signIn(system, system.owner);
}, 300_000);
afterAll(() => system?.stop());

const from = (network: number) => ({ 'X-Forwarded-For': `192.0.2.${network}` });
const gatewayOf = (i: number) => gateways[i % gateways.length] as { readonly baseUrl: string };

/** Returns a client of the same person at the gateway of another replica. */
const through = (i: number, { session }: Person): Api => api(gatewayOf(i), session);

/** Sends concurrent requests to both replicas in turns. */
const atOnce = <T>(count: number, ask: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => ask(i)));

/** Counts equal outcomes. */
function tally(answers: readonly (Reply<unknown> | Response)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[answer.status] = (counts[answer.status] ?? 0) + 1;
  return counts;
}

const signUp = (i: number, email: string, headers: Record<string, string>) =>
  api(gatewayOf(i)).post('/auth/sign-up', { email, password: PASSWORD, name: 'Somebody' }, { headers });

const guess = (i: number, email: string, network: number) =>
  api(gatewayOf(i)).post('/auth/sign-in', { email, password: 'not the password' }, { headers: from(network) });

withServers(
  'failed sign-ins are limited exactly, by account and place, by place, and by account',
  async () => {
    const email = newAddress('Guessed');
    expect((await signUp(0, email, from(1))).status).toBe(201);
    const ofBoth = await atOnce(30, (i) => guess(i, email, 2));
    expect(tally(ofBoth)).toEqual({ 401: TRIES, 429: 30 - TRIES });
    const ofPlace = await atOnce(60, (i) => guess(i, newAddress('Nobody'), 3));
    expect(tally(ofPlace)).toEqual({ 401: 5 * TRIES, 429: 60 - 5 * TRIES });
    // Four of the account's tries are used already.
    const ofAccount = await atOnce(80, (i) => guess(i, email, 10 + i));
    expect(tally(ofAccount)).toEqual({ 401: 9 * TRIES, 429: 80 - 9 * TRIES });
  },
  120_000,
);

withServers(
  'bad keys from one network are limited over all gateways together, in turns and at once',
  async () => {
    const ask = (i: number, network: number) =>
      api(gatewayOf(i), 'wsk_p_not-a-key').get('/workspaces', { headers: from(network) });
    expect(tally(await atOnce(60, (i) => ask(i, 200)))).toEqual({ 401: 20, 429: 40 });
    const inTurns: Reply<unknown>[] = [];
    for (let i = 0; i < 30; i++) inTurns.push(await ask(i, 201));
    expect(tally(inTurns)).toEqual({ 401: 20, 429: 10 });
  },
  120_000,
);

withServers(
  'links for a new password and an address are limited for each place, and for nobody else',
  async () => {
    const tokens = (i: number, network: number) =>
      api(gatewayOf(i)).post(
        '/auth/reset-password',
        { token: 'x'.repeat(43), new_password: PASSWORD },
        { headers: from(network) },
      );
    const ofPlace = await atOnce(60, (i) => tokens(i, 100));
    expect(tally(ofPlace)).toEqual({ 404: 5 * TRIES, 429: 60 - 5 * TRIES });
    const ofOthers = await atOnce(60, (i) => tokens(i, 101 + i));
    expect(tally(ofOthers)).toEqual({ 404: 60 });
  },
  120_000,
);

withServers(
  'accounts are made as often as a network may, whichever replica is asked',
  async () => {
    const answers = await atOnce(30, (i) => signUp(i, newAddress('New'), from(4)));
    expect(tally(answers)).toEqual({ 201: SIGN_UPS, 429: 30 - SIGN_UPS });
    const email = newAddress('Same');
    const same = await atOnce(6, (i) => signUp(i, email, from(5 + i)));
    expect(tally(same)).toEqual({ 201: 1, 409: 5 });
  },
  120_000,
);

withServers(
  'passwords of a publication are compared as often as the limit allows',
  async () => {
    const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'Locked' });
    const body = { type: 'document', name: 'Locked', content: 'inside', workspace_id: workspace.id };
    const { data: made } = await owner.post<Resource>('/resources', body);
    const { data } = await owner.post<{ slug: string }>(`/resources/${made.id}/publish`, { password: 'correct horse' });
    const answers = await atOnce(40, (i) =>
      fetch(`${gatewayOf(i).baseUrl}/p/${data.slug}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...from(6), 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ password: `guess ${i}` }).toString(),
      }),
    );
    expect(tally(answers)).toEqual({ 403: GUESSES, 429: 40 - GUESSES });
  },
  120_000,
);

withServers(
  'quotas hold when both replicas are asked at the same moment',
  async () => {
    const { data: org } = await owner.post<Org>('/orgs', { name: 'Full' });
    const members = await atOnce(40, (i) =>
      through(i, owner).post(`/orgs/${org.id}/members`, { email: newAddress(`Member ${i}`) }),
    );
    expect(tally(members)).toEqual({ 201: MEMBERS - 1, 409: 40 - (MEMBERS - 1) });
    const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'Full', org_id: org.id });
    const body = { type: 'document', name: 'One', workspace_id: workspace.id };
    const resources = await atOnce(90, (i) => through(i, owner).post('/resources', body));
    expect(tally(resources)).toEqual({ 201: RESOURCES, 409: 90 - RESOURCES });
  },
  120_000,
);

withServers(
  'a person has so many sessions, wherever they begin',
  async () => {
    const email = newAddress('Often');
    await signUp(0, email, from(7));
    const times = 4 * SESSIONS;
    // From many networks, and few at once: a request in progress counts as an attempt.
    const people: Person[] = [];
    for (let i = 0; i < times; i += 4) {
      const more = await atOnce(4, (at) => signIn(gatewayOf(at), { email, password: PASSWORD }));
      people.push(...more);
    }
    // A gateway caches a session for at most a second.
    await eventually(async () => {
      // Each from a network of its own, because the failures of a network are limited.
      const headers = (i: number) => ({ headers: from(100 + i) });
      const answers = await atOnce(2 * times, (i) => through(i, people[i >> 1] as Person).get('/me', headers(i)));
      expect(tally(answers)).toEqual({ 200: 2 * SESSIONS, 401: 2 * (times - SESSIONS) });
    });
  },
  120_000,
);

withServers(
  'a key that is revoked, and a session that has ended, end at every replica',
  async () => {
    const { id, key } = await newKey(owner, ['workspace:read']);
    const person = await signIn(gatewayOf(1), system.owner);
    const askAll = () => atOnce(2, (i) => api(gatewayOf(i), key).get('/workspaces'));
    const askSession = () => atOnce(2, (i) => through(i, person).get('/me'));
    expect(tally(await askAll())).toEqual({ 200: 2 });
    expect(tally(await askSession())).toEqual({ 200: 2 });
    await owner.del(`/api-keys/${id}`);
    await person.post('/auth/sign-out', {});
    await eventually(async () => {
      expect((await askAll()).map(({ error }) => error?.code)).toEqual(['revoked_key', 'revoked_key']);
      expect(tally(await askSession())).toEqual({ 401: 2 });
    });
  },
  60_000,
);
