import { api } from '@commonplace/acceptance/dist/src/client.js';
import { eventually } from '@commonplace/acceptance/dist/src/eventually.js';
import { signIn } from '@commonplace/acceptance/dist/src/people.js';
import { startSystem } from '@commonplace/acceptance/dist/src/system.js';
import { expect, test } from '@jest/globals';
import { commonplace } from './commonplace.js';

test('a lost password is replaced beside the running system, and every session ends', async () => {
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
