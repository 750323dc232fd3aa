import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AutomationRecord,
  automationCollection,
  hookSecretOwner,
  hookTokenOwner,
  secretOwner,
} from '@commonplace/automations/secrets';
import { requireKeys } from '@commonplace/kit/installation';
import { createEnvelope, parseMasterKeys, SECRETS_KEY } from '@commonplace/kit/secrets';
import type { Collection } from '@commonplace/kit/store';
import { createFormTokens, type FormRecord, formCollection } from '@commonplace/resources/secrets';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { silentProgress } from '../src/progress.js';
import { rotateSecrets } from '../src/rotate.js';
import { commonplace } from './commonplace.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

interface Connector {
  readonly id: string;
  readonly version: number;
  readonly tenant: string;
  readonly sealed: string;
}

let folder: DataFolder;
let connectors: Collection<Connector>;
const keyFile = () => join(folder.dataDir, 'secrets.key');
const envelope = () => createEnvelope(parseMasterKeys(readFileSync(keyFile(), 'utf8')));
const owner = (record: string) => ({ tenant: 'acme', record });

beforeEach(async () => {
  folder = await makeDataFolder();
  connectors = await folder.database.store('tenancy').collection({ name: 'connectors', indexes: [] });
});
afterEach(() => folder.remove());

async function add(id: string, sealed: string): Promise<void> {
  const work = folder.database.store('tenancy').begin();
  work.insert(connectors, { id, tenant: 'acme', sealed });
  await work.commit();
}

const sealedOf = async (id: string) => (await connectors.get(id))?.sealed ?? '';

test('two runs with a restart between them re-encrypt every secret with a new key', async () => {
  const old = readFileSync(keyFile(), 'utf8').trim();
  const ids = Array.from({ length: 150 }, (_, i) => `connector-${i}`);
  for (const id of ids) await add(id, envelope().seal(`secret of ${id}`, owner(id)));
  const env = { COMMONPLACE_DATA_DIR: folder.dataDir };
  const first = await commonplace(['rotate-secrets', '--json'], env);
  expect(JSON.parse(first.stdout)).toMatchObject({ stage: 'added' });
  expect(readFileSync(keyFile(), 'utf8').split(',')[1]?.trim()).toBe(old);
  await add('between', envelope().seal('sealed after the restart', owner('between')));
  const second = await commonplace(['rotate-secrets', '--json'], env);
  expect(JSON.parse(second.stdout)).toEqual({ stage: 'done', rewrapped: 150, unreadable: [], spareKeys: 1 });
  const now = readFileSync(keyFile(), 'utf8').trim();
  expect(now).not.toContain(old);
  for (const id of ids) expect(envelope().open(await sealedOf(id), owner(id))).toBe(`secret of ${id}`);
  expect(envelope().open(await sealedOf('between'), owner('between'))).toBe('sealed after the restart');
  expect(readFileSync(`${keyFile()}.former`, 'utf8').trim()).toBe(old);
  for (const { stdout, stderr } of [first, second])
    for (const key of [old, now]) expect(stdout + stderr).not.toContain(key);
});

test('refuses to re-encrypt before the system has started with the new key', async () => {
  const records = folder.database.installation();
  await records.insert({ installationId: 'here', origin: 'new', bound: [], keys: {} });
  const start = () => {
    const keys = new Map([[SECRETS_KEY.variable, parseMasterKeys(readFileSync(keyFile(), 'utf8'))]]);
    return requireKeys(records, keys, { adopt: false, nameOf: (variable) => variable });
  };
  await start();
  await add('one', envelope().seal('one', owner('one')));
  const env = { COMMONPLACE_DATA_DIR: folder.dataDir };
  expect((await commonplace(['rotate-secrets'], env)).code).toBe(0);
  const both = readFileSync(keyFile(), 'utf8');
  const early = await commonplace(['rotate-secrets'], env);
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('has not started with the new key yet')]);
  expect(readFileSync(keyFile(), 'utf8')).toBe(both);
  await start();
  expect((await commonplace(['rotate-secrets'], env)).code).toBe(0);
  await start();
  expect(envelope().open(await sealedOf('one'), owner('one'))).toBe('one');
});

test('resumes after an interrupted run', async () => {
  const [fresh, old] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64')) as [string, string];
  writeFileSync(keyFile(), `${fresh},${old}\n`);
  await add('done', envelope().seal('one', owner('done')));
  await add('left', createEnvelope(parseMasterKeys(old)).seal('two', owner('left')));
  const options = { places: { dataDir: folder.dataDir, mongodbUrl: undefined }, setting: undefined };
  expect(await rotateSecrets(options, silentProgress)).toMatchObject({ rewrapped: 1, spareKeys: 1 });
  const after = createEnvelope(parseMasterKeys(fresh));
  expect(after.open(await sealedOf('done'), owner('done'))).toBe('one');
  expect(after.open(await sealedOf('left'), owner('left'))).toBe('two');
});

test('removes no key while a secret is unreadable or the key comes from a setting', async () => {
  const [fresh, old] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('hex')) as [string, string];
  writeFileSync(keyFile(), `${fresh},${old}\n`);
  await add('lost', createEnvelope([randomBytes(32)]).seal('three', owner('lost')));
  const { code, stdout } = await commonplace(['rotate-secrets', '--json'], { COMMONPLACE_DATA_DIR: folder.dataDir });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ unreadable: ['lost'], spareKeys: 0 });
  expect(readFileSync(keyFile(), 'utf8')).toBe(`${fresh},${old}\n`);
  const one = await commonplace(['rotate-secrets'], {
    COMMONPLACE_DATA_DIR: folder.dataDir,
    COMMONPLACE_SECRETS_KEY: old,
  });
  expect(one.code).toBe(78);
  expect(one.stdout + one.stderr).not.toContain(old);
});

test('form tokens are found by the new key, and their webhook secrets can be decrypted', async () => {
  const store = folder.database.store('resources');
  const forms = await store.collection(formCollection);
  const [fresh, old] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64')) as [string, string];
  const before = parseMasterKeys(old);
  const tokens = createFormTokens(before, createEnvelope(before));
  const [token, hook] = [tokens.mint(owner('form')), tokens.mint(owner('form'))];
  const webhook = { id: 'w', url: 'https://example.com', events: [], is_active: true, hint: 'cret' };
  const sealed = createEnvelope(before).seal('whsec_secret', owner('form'));
  const work = store.begin();
  const hashes = { tokenHash: token.hash, hookHash: hook.hash, tokenSealed: token.sealed, hookSealed: hook.sealed };
  const record = { id: 'form', tenant: 'acme', resourceId: 'table', ...hashes };
  work.insert(forms, { ...record, config: { webhooks: [{ ...webhook, sealed }] } } as unknown as FormRecord);
  await work.commit();
  writeFileSync(keyFile(), `${fresh},${old}\n`);
  const options = { places: { dataDir: folder.dataDir, mongodbUrl: undefined }, setting: undefined };
  expect(await rotateSecrets(options, silentProgress)).toMatchObject({ rewrapped: 1, unreadable: [], spareKeys: 1 });
  const after = parseMasterKeys(fresh);
  const now = createFormTokens(after, createEnvelope(after));
  const form = (await forms.get('form')) as FormRecord;
  expect([form.tokenHash, form.hookHash]).toEqual([now.hash(token.token), now.hash(hook.token)]);
  expect(now.open(form.tokenSealed, owner('form'))).toBe(token.token);
  expect(createEnvelope(after).open(form.config.webhooks[0]?.sealed ?? '', owner('form'))).toBe('whsec_secret');
});

test('secrets of automations can be decrypted with the new key, each only in its own place', async () => {
  const store = folder.database.store('automations');
  const automations = await store.collection(automationCollection);
  const [fresh, old] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64')) as [string, string];
  const before = createEnvelope(parseMasterKeys(old));
  const at = { id: 'automation', tenant: 'acme' };
  const work = store.begin();
  work.insert(automations, {
    ...at,
    ...{ workspaceId: 'w', name: 'n', isActive: true, triggerType: 'webhook', hookTokenHash: 'hash' },
    hookTokenSealed: before.seal('token', hookTokenOwner(at)),
    hookSecretSealed: before.seal('of the sender', hookSecretOwner(at)),
    secrets: [{ name: 'KEY', sealed: before.seal('value', secretOwner(at, 'KEY')), allowedHosts: [], enteredBy: 'u' }],
  } as unknown as AutomationRecord);
  await work.commit();
  writeFileSync(keyFile(), `${fresh},${old}\n`);
  const options = { places: { dataDir: folder.dataDir, mongodbUrl: undefined }, setting: undefined };
  expect(await rotateSecrets(options, silentProgress)).toMatchObject({ rewrapped: 1, unreadable: [], spareKeys: 1 });
  const after = createEnvelope(parseMasterKeys(fresh));
  const { hookTokenSealed = '', hookSecretSealed = '', secrets } = (await automations.get(at.id)) as AutomationRecord;
  expect(after.open(hookTokenSealed, hookTokenOwner(at))).toBe('token');
  expect(after.open(hookSecretSealed, hookSecretOwner(at))).toBe('of the sender');
  expect(after.open(secrets[0]?.sealed ?? '', secretOwner(at, 'KEY'))).toBe('value');
  expect(() => after.open(hookSecretSealed, hookTokenOwner(at))).toThrow('another record');
});

test('e-mails that wait for the mail server and questions of tools that wait for a person outlast the old key', async () => {
  interface Waiting {
    readonly id: string;
    readonly version: number;
    readonly content?: string;
    readonly questionState?: string;
  }
  const [fresh, old] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64')) as [string, string];
  const before = createEnvelope(parseMasterKeys(old));
  const mails = folder.database.store('tenancy');
  const outbox = await mails.collection<Waiting>({ name: 'mail_outbox', indexes: [] });
  const mailOwner = { tenant: 'mail', record: 'invitation' };
  const mail = mails.begin();
  mail.insert(outbox, { id: 'invitation', to: 'ada@example.com', content: before.seal('{}', mailOwner) } as never);
  await mail.commit();
  const runs = folder.database.store('agents');
  const approvals = await runs.collection<Waiting>({ name: 'approvals', indexes: [] });
  const callOwner = { tenant: 'acme', record: 'run:run:3' };
  const lost = createEnvelope([randomBytes(32)]).seal('{}', callOwner);
  const question = runs.begin();
  const at = { tenant: 'acme', runId: 'run', stepId: 'run:3', kind: 'question' };
  const questionState = before.seal('{"round":1}', callOwner);
  question.insert(approvals, { ...at, id: 'open', status: 'pending', questionState } as never);
  question.insert(approvals, { ...at, id: 'over', status: 'expired', questionState: lost } as never);
  await question.commit();
  writeFileSync(keyFile(), `${fresh},${old}\n`);
  const options = { places: { dataDir: folder.dataDir, mongodbUrl: undefined }, setting: undefined };
  expect(await rotateSecrets(options, silentProgress)).toMatchObject({ rewrapped: 2, unreadable: [], spareKeys: 1 });
  const after = createEnvelope(parseMasterKeys(fresh));
  expect(after.open((await outbox.get('invitation'))?.content ?? '', mailOwner)).toBe('{}');
  expect(after.open((await approvals.get('open'))?.questionState ?? '', callOwner)).toBe('{"round":1}');
});
