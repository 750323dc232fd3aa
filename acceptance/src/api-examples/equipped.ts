import { type Authenticator, createAuthenticator } from '@commonplace/kit/testing/authenticator';
import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { type Mailbox, openMailbox } from '@commonplace/kit/testing/mailbox';
import { type Api, api } from '../client.js';
import { eventually } from '../eventually.js';
import { archive, importAll } from '../imports.js';
import { type Person, signIn, signUp } from '../people.js';
import { type RunningProvider, startProvider } from '../provider.js';
import type { Connection, Connector, List, Resource, Workspace } from '../records.js';
import { freePort, type OwnSystem, startSystem } from '../system.js';
import type { Prepared } from './record.js';

/**
 * A system with the surroundings that some operations need: a mail server, a scripted language model, an authorization
 * server, and a host name that allows passkeys.
 */
export interface Equipped {
  readonly system: OwnSystem;
  readonly mailbox: Mailbox;
  readonly model: ChatServer;
  readonly provider: RunningProvider;
  readonly boss: Person;
  readonly workspace: Workspace;
  stop(): Promise<void>;
}

export async function startEquipped(): Promise<Equipped> {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const client = { clientId: 'commonplace', clientSecret: 'a-secret-of-the-client' };
  const redirectUri = `${origin}/auth/connectors/callback`;
  const [mailbox, model, provider] = await Promise.all([
    openMailbox(),
    openChatServer(),
    startProvider({ ...client, redirectUri, email: 'ada@elsewhere.example' }),
  ]);
  const system = await startSystem({
    COMMONPLACE_PORT: String(port),
    COMMONPLACE_PUBLIC_URL: origin,
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_SMTP_URL: mailbox.url,
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: 'scripted',
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_CLIENT_ID: client.clientId,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_CLIENT_SECRET: client.clientSecret,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_AUTHORIZE_URL: `${provider.issuer}/auth`,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_TOKEN_URL: `${provider.issuer}/token`,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_REVOKE_URL: `${provider.issuer}/token/revocation`,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_SCOPES: 'openid,email,offline_access',
  });
  const boss = await signIn(system, system.owner);
  const workspace = (await boss.post<Workspace>('/workspaces', { name: 'Field notes' })).data;
  return {
    ...{ system, mailbox, model, provider, boss, workspace },
    async stop() {
      await system.stop();
      await Promise.all([provider.stop(), model.close(), mailbox.close()]);
    },
  };
}

/** Prepares the requests of operations that need an equipped system. */
export const NEEDS_EQUIPMENT: Readonly<Record<string, (equipped: Equipped) => Promise<Prepared>>> = {
  verifyEmail: async ({ system, mailbox }) => {
    const { user } = await signUp(system, 'Ada');
    const [, token = ''] = await mailbox.next(user.email, /verify-email\?token=([\w-]{43})/);
    return { path: '/auth/verify-email', body: { token } };
  },
  resetPassword: async ({ system, mailbox }) => {
    const { user } = await signUp(system, 'Ada');
    await api(system).post('/auth/forgot-password', { email: user.email });
    const [, token = ''] = await mailbox.next(user.email, /reset-password\?token=([\w-]{43})/);
    return { path: '/auth/reset-password', body: { token, new_password: 'four quiet green lanterns' } };
  },
  completePasskeyRegistration: async ({ system }) => {
    const person = await signUp(system, 'Ada');
    const credential = await registered(system, person, createAuthenticator());
    return { by: person, path: '/auth/passkeys/register', body: { name: 'Laptop', credential } };
  },
  completePasskeySignIn: async ({ system }) => {
    const passkey = createAuthenticator();
    await newPasskey(system, await signUp(system, 'Ada'), passkey);
    const { data } = await api(system).post<{ options: object }>('/auth/passkeys/sign-in/begin', {});
    const credential = JSON.parse(passkey.sign(JSON.stringify(data.options), hereOf(system)));
    return { path: '/auth/passkeys/sign-in', body: { credential } };
  },
  renamePasskey: async ({ system }) => {
    const person = await signUp(system, 'Ada');
    const body = { passkey_id: await newPasskey(system, person), name: 'Laptop at work' };
    return { by: person, path: '/auth/passkeys/rename', body };
  },
  removePasskey: async ({ system }) => {
    const person = await signUp(system, 'Ada');
    const body = { passkey_id: await newPasskey(system, person) };
    return { by: person, path: '/auth/passkeys/remove', body };
  },
  deletePasskey: async ({ system }) => {
    const person = await signUp(system, 'Ada');
    return { by: person, path: `/auth/passkeys/${await newPasskey(system, person)}` };
  },
  deleteConnection: async ({ provider, boss, workspace }) => {
    const connectors = `/workspaces/${workspace.id}/connectors`;
    const { data } = await boss.post<Connector>(connectors, { type: 'google_drive', name: 'Our Drive' });
    const back = await provider.allow(data.authorize_url ?? '');
    await fetch(back, { redirect: 'manual', headers: { cookie: boss.session.cookie } });
    const connections = `/workspaces/${workspace.id}/connections`;
    const [connection] = (await boss.get<List<Connection>>(connections)).data.items;
    return { by: boss, path: `${connections}/${connection?.id}` };
  },
  retryImport: async ({ boss, workspace }) => {
    // The second page of the archive is damaged, so that the import has an item to retry.
    const bytes = archive({ 'good.md': '# Good', 'bad.md': [Buffer.from('damaged page'), { level: 0 }] });
    bytes.write('D', bytes.indexOf('damaged page'));
    const body = { source_type: 'markdown_zip', content_base64: bytes.toString('base64') };
    return { by: boss, path: `/imports/${(await importAll(boss, workspace.id, body)).id}/retry`, body: {} };
  },
  cancelAutomationRun: async (equipped) => {
    const path = await automationRun(equipped, { id: 'wait', type: 'delay', config: { seconds: 3600 } }, 'waiting');
    return { by: equipped.boss, path: `${path}/cancel`, body: { reason: 'Not needed any more.' } };
  },
  retryAutomationRun: async (equipped) => {
    const config = { resource_id: '00000000-0000-4000-8000-000000000009', name: 'kept' };
    const path = await automationRun(equipped, { id: 'tag', type: 'add_tag', config }, 'failed');
    return { by: equipped.boss, path: `${path}/retry`, body: {} };
  },
  getApproval: async (equipped) => ({
    by: equipped.boss,
    path: `/agent-approvals/${await pendingApproval(equipped)}`,
  }),
  decideApproval: async (equipped) => ({
    by: equipped.boss,
    path: `/agent-approvals/${await pendingApproval(equipped)}`,
    body: { status: 'approved', comment: 'Go ahead.' },
  }),
  cancelRun: async (equipped) => {
    const { run_id: runId } = await waitingRun(equipped);
    return { by: equipped.boss, path: `/agent-runs/${runId}/cancel`, body: { reason: 'Not needed any more.' } };
  },
};

const hereOf = ({ baseUrl }: OwnSystem) => ({
  origin: baseUrl.replace('127.0.0.1', 'localhost'),
  rpId: 'localhost',
});

/** Registers a passkey with an authenticator. Returns the credential in the form that a browser sends. */
async function registered(system: OwnSystem, person: Api, passkey: Authenticator): Promise<object> {
  const { data } = await person.post<{ options: object }>('/auth/passkeys/register/begin', {});
  return JSON.parse(passkey.register(JSON.stringify(data.options), hereOf(system)));
}

/** Adds a passkey to an account. Returns its id. */
async function newPasskey(system: OwnSystem, person: Api, passkey = createAuthenticator()): Promise<string> {
  const body = { name: 'Laptop', credential: await registered(system, person, passkey) };
  return (await person.post<{ id: string }>('/auth/passkeys/register', body)).data.id;
}

/** Starts a run of an automation with one action, and waits until the run has a status. Returns its path. */
async function automationRun({ boss, workspace }: Equipped, action: object, status: string): Promise<string> {
  const body = { name: 'Weekly', workspace_id: workspace.id, trigger: { type: 'manual' }, actions: [action] };
  const { id } = (await boss.post<{ id: string }>('/automations', body)).data;
  const run = (await boss.post<{ id: string }>(`/automations/${id}/run`, {})).data;
  const path = `/automations/${id}/runs/${run.id}`;
  await eventually(async () => {
    const { data } = await boss.get<{ status: string }>(path);
    if (data.status !== status) throw new Error(`the run is ${data.status}`);
  }, 60_000);
  return path;
}

/** An agent's request to write a comment, which waits for a person. */
interface PendingApproval {
  readonly id: string;
  readonly run_id: string;
}

async function waitingRun({ boss, workspace, model }: Equipped): Promise<PendingApproval> {
  const document = { workspace_id: workspace.id, type: 'document', name: 'Kingfishers', content: 'Seen at the weir.' };
  const page = (await boss.post<Resource>('/resources', document)).data;
  const keeper = { name: 'Keeper', tools: ['read', 'comment'], approval_policy: { mode: 'always' } };
  const agent = (await boss.post<{ id: string }>('/agents', keeper)).data;
  await boss.send('PUT', `/agents/${agent.id}/workspaces`, {
    workspaces: [{ workspace_id: workspace.id, role: 'commenter' }],
  });
  const input = `Ask under ${page.name} when they were seen (${page.id}).`;
  const call = { id: 'call_1', name: 'comment', arguments: { resource_id: page.id, body: 'When was that?' } };
  model.script({ match: page.id, by: 'turn', replies: [{ toolCalls: [call] }, { text: 'I have asked.' }] });
  const run = { agent_id: agent.id, workspace_id: workspace.id, input };
  const { id } = (await boss.post<{ id: string }>('/agent-runs', run)).data;
  return eventually(async () => {
    const { data } = await boss.get<List<PendingApproval>>('/agent-approvals?status=pending');
    const found = data.items.find((approval) => approval.run_id === id);
    if (found === undefined) throw new Error('the run has not asked for approval yet');
    return found;
  }, 60_000);
}

async function pendingApproval(equipped: Equipped): Promise<string> {
  return (await waitingRun(equipped)).id;
}
