import { randomUUID } from 'node:crypto';
import { type Api, api, type Reply, type Session } from './client.js';
import type { ApiKey, User } from './records.js';
import type { Owner, System } from './system.js';

/** A person with an account who is signed in like in a browser. */
export interface Person extends Api {
  readonly user: User;
  readonly session: Session;
  readonly password: string;
}

export interface SignedIn {
  readonly user: User;
  readonly csrf_token: string;
  readonly expires_at: string;
}

/** A password that is long enough. */
export const PASSWORD = 'correct horse battery staple';

/** Returns an e-mail address that is not in use. */
export function newAddress(name: string): string {
  return `${name.toLowerCase().replaceAll(/[^a-z]+/g, '.')}.${randomUUID().slice(0, 8)}@example.com`;
}

/** Creates an account, with the token of an invitation if one is given. */
export async function signUp(
  system: Pick<System, 'baseUrl'>,
  name: string,
  given: { readonly email?: string; readonly invitation?: string | undefined } = {},
): Promise<Person> {
  const email = given.email ?? newAddress(name);
  const invitation = given.invitation === undefined ? {} : { invitation_token: given.invitation };
  const reply = await api(system).post<SignedIn>('/auth/sign-up', { email, password: PASSWORD, name, ...invitation });
  return personOf(system, reply, PASSWORD);
}

/** Signs in with an address and a password. */
export async function signIn(
  system: Pick<System, 'baseUrl'>,
  { email, password }: Pick<Owner, 'email' | 'password'>,
): Promise<Person> {
  return personOf(system, await api(system).post<SignedIn>('/auth/sign-in', { email, password }), password);
}

/** Returns the person whom an answer of `/auth/…` has signed in. */
export function personOf(system: Pick<System, 'baseUrl'>, reply: Reply<SignedIn>, password: string): Person {
  const { user, csrf_token: csrf } = reply.data;
  const session = { cookie: cookieOf(reply.headers), csrf };
  return { user, session, password, ...api(system, session) };
}

/** Returns the session cookie in the form in which a browser sends it back. */
export function cookieOf(headers: Headers): string {
  const [cookie = ''] = headers.getSetCookie().map((one) => one.split(';')[0] ?? '');
  if (cookie === '') throw new Error('The answer sets no cookie.');
  return cookie;
}

/** Returns the token in the link of an invitation. */
export function tokenOf(inviteUrl: string | undefined): string {
  const token = new URL(inviteUrl ?? 'about:blank').searchParams.get('invite');
  if (token === null) throw new Error(`${inviteUrl} contains no token.`);
  return token;
}

/** Creates an API key. Returns its record with the key itself. */
export async function newKey(
  by: Api,
  scopes: readonly string[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<ApiKey & { readonly key: string }> {
  const { data } = await by.post<ApiKey>('/api-keys', { name: 'Key', scopes, ...more });
  if (data.key === undefined) throw new Error('The answer has no key.');
  return { ...data, key: data.key };
}
