import { Secret, TOTP } from 'otpauth';
import { type Api, api } from '../client.js';
import { newAddress, PASSWORD, signUp, tokenOf } from '../people.js';
import type { System } from '../system.js';
import type { World } from '../world.js';
import type { Prepared } from './record.js';

/** Prepares requests of operations outside the contract: accounts, sessions and signed URLs. */
export const ACCOUNTS: Readonly<Record<string, (world: World) => Promise<Prepared>>> = {
  signUp: async () => ({
    path: '/auth/sign-up',
    body: { email: newAddress('ada'), password: PASSWORD, name: 'Ada Lovelace' },
  }),
  signIn: async ({ system }) => {
    const { user } = await signUp(system, 'Ada');
    return { path: '/auth/sign-in', body: { email: user.email, password: PASSWORD } };
  },
  completeSignIn: async ({ system }) => {
    const person = await signUp(system, 'Ada');
    const { data } = await person.post<{ recovery_codes: string[] }>('/auth/totp/confirm', {
      code: await firstCode(person),
    });
    const body = { email: person.user.email, password: PASSWORD };
    const { error } = await api(system).post('/auth/sign-in', body);
    const { challenge } = error.details as { challenge: string };
    return { path: '/auth/second-factor', body: { challenge, code: data.recovery_codes[0] } };
  },
  endSession: async ({ system }) => {
    const person = await signUp(system, 'Ada');
    const { id } = await sessionOf(person);
    return { by: person, path: '/auth/sessions/end', body: { session_id: id } };
  },
  deleteSession: async ({ system }) => {
    const person = await signUp(system, 'Ada');
    return { by: person, path: `/auth/sessions/${(await sessionOf(person)).id}` };
  },
  confirmTotp: async ({ system }) => {
    const person = await signUp(system, 'Ada');
    return { by: person, path: '/auth/totp/confirm', body: { code: await firstCode(person) } };
  },
  removeTotp: async ({ system }) => ({ by: await withSecondFactor(system), path: '/auth/totp/remove', body: {} }),
  renewRecoveryCodes: async ({ system }) => ({
    by: await withSecondFactor(system),
    path: '/auth/recovery-codes',
    body: {},
  }),
  acceptInvitation: async ({ system, boss, closed }) => {
    const email = newAddress('ada');
    const body = { email, role: 'guest' };
    const { data } = await boss.post<{ invite_url: string }>(`/orgs/${closed.org.id}/members`, body);
    const person = await signUp(system, 'Ada', { email });
    return { by: person, path: '/auth/accept-invitation', body: { token: tokenOf(data.invite_url) } };
  },
  downloadBytes: async ({ closed }) => {
    const { data } = await closed.boss.get<{ download_url: string }>(`/resources/${closed.file.id}/file`);
    return { path: new URL(data.download_url, 'http://localhost').pathname };
  },
  uploadBytes: async ({ closed }) => {
    const body = { name: 'Words.txt', size_bytes: 5, workspace_id: closed.workspace.id };
    const { data } = await closed.boss.post<{ upload: { url: string } }>('/files', body);
    const headers = { 'Content-Type': 'application/octet-stream' };
    return { path: new URL(data.upload.url, 'http://localhost').pathname, body: 'Words', headers };
  },
};

/** Starts the set-up of one-time passwords. Returns the first code. */
async function firstCode(person: Api): Promise<string> {
  const { data } = await person.post<{ secret: string }>('/auth/totp/begin', {});
  return new TOTP({ secret: Secret.fromBase32(data.secret) }).generate();
}

async function withSecondFactor(system: Pick<System, 'baseUrl'>): Promise<Api> {
  const person = await signUp(system, 'Ada');
  await person.post('/auth/totp/confirm', { code: await firstCode(person) });
  return person;
}

async function sessionOf(person: Api): Promise<{ readonly id: string }> {
  const { data } = await person.get<{ items: { id: string }[] }>('/auth/sessions');
  return data.items[0] as { id: string };
}
