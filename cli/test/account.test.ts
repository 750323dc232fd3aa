import { type Api, api } from '@commonplace/acceptance/dist/src/client.js';
import { eventually } from '@commonplace/acceptance/dist/src/eventually.js';
import { signIn } from '@commonplace/acceptance/dist/src/people.js';
import { startSystem } from '@commonplace/acceptance/dist/src/system.js';
import { expect, test } from '@jest/globals';
import { commonplace } from './commonplace.js';

test('replaces a lost password while the system runs, and ends every session', async () => {
  const system = await startSystem();
  try {
    const { email, password: old } = system.owner;
    const owner = await signIn(system, system.owner);
    const { code, stdout } = await commonplace(['account', 'reset-password', email, '--json'], system.places);
    const { password, sessionsEnded } = JSON.parse(stdout) as { password: string; sessionsEnded: number };
    expect([code, sessionsEnded]).toEqual([0, 1]);
    await eventually(async () => expect((await owner.get('/me')).status).toBe(401));
    expect((await api(system).post('/auth/sign-in', { email, password: old })).status).toBe(401);
    const again = await signIn(system, { email, password });
    expect((await api(system).post('/auth/sign-in', { email, password })).status).toBe(401);
    const change = { current_password: password, new_password: 'battery staple horse correct' };
    expect((await again.post('/auth/change-password', change)).status).toBe(200);
    const none = await commonplace(['account', 'reset-second-factor', email, '--json'], system.places);
    expect([none.code, JSON.parse(none.stdout).error.message]).toEqual([1, `${email} has no second factor`]);
  } finally {
    await system.stop();
  }
}, 180_000);

test('ends sessions, and disables and enables accounts, while the system runs', async () => {
  const system = await startSystem();
  const run = async (...words: string[]) => {
    const { code, stdout } = await commonplace(['account', ...words, '--json'], system.places);
    return [code, JSON.parse(stdout)] as const;
  };
  try {
    const { email, apiKey } = system.owner;
    const status = async (...people: Api[]) => Promise.all(people.map(async (one) => (await one.get('/me')).status));
    const key = api(system, apiKey);
    const first = [await signIn(system, system.owner), await signIn(system, system.owner)];
    expect(await run('end-sessions', email)).toEqual([0, { email, sessionsEnded: 2 }]);
    await eventually(async () => expect(await status(...first, key)).toEqual([401, 401, 200]));
    const second = await signIn(system, system.owner);
    expect(await run('end-sessions', '--all')).toEqual([0, { sessionsEnded: 1 }]);
    await eventually(async () => expect(await status(second)).toEqual([401]));
    expect((await run('end-sessions'))[0]).toBe(64);
    const third = await signIn(system, system.owner);
    expect(await run('disable', email)).toEqual([0, { email, sessionsEnded: 1 }]);
    await eventually(async () => expect(await status(third, key)).toEqual([401, 401]));
    expect((await api(system).post('/auth/sign-in', { email, password: system.owner.password })).status).toBe(401);
    expect((await run('disable', email))[0]).toBe(1);
    for (const command of ['disable', 'enable', 'end-sessions', 'reset-password'])
      expect((await run(command, 'nobody@example.com'))[0]).toBe(66);
    expect(await run('enable', email)).toEqual([0, { email }]);
    const fourth = await signIn(system, system.owner);
    await eventually(async () => expect(await status(fourth, key)).toEqual([200, 200]));
    expect(await status(third)).toEqual([401]);
    await eventually(async () => {
      const actions = (await fourth.get<{ items: { action: string }[] }>('/audit-events?limit=50')).data.items;
      expect(actions.map(({ action }) => action)).toEqual(expect.arrayContaining(['user.disabled', 'user.enabled']));
    });
  } finally {
    await system.stop();
  }
}, 180_000);
