import { randomBytes } from 'node:crypto';
import { silentLog } from '@commonplace/kit/log';
import { createEnvelope } from '@commonplace/kit/secrets';
import { inWork } from '@commonplace/kit/store';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { config } from '../src/config.js';
import { rewrapSecrets } from '../src/jobs/secrets.js';
import { openParts, type Parts } from '../src/parts.js';
import type { Connector } from '../src/stores/connectors.js';
import { openWorld, type World } from './world.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

async function partsWith(...secretsKey: Buffer[]): Promise<Parts> {
  const { store } = world.host;
  const settings = { ...world.host.settings(config), secretsKey };
  return openParts({
    store,
    settings,
    users: {} as never,
    index: {} as never,
    permissions: {} as never,
    templates: {} as never,
    archives: {} as never,
    agents: {} as never,
    work: {} as never,
    conversations: {} as never,
    log: silentLog,
  });
}

const owner = (record: string) => ({ tenant: 'acme', record });

function connector(id: string, sealed: string | undefined): Omit<Connector, 'version'> {
  return {
    ...{ id, tenant: 'acme', workspaceId: 'w', type: 's3', name: id, config: '{}', authType: 'api_key' },
    ...{ status: 'active', createdBy: { type: 'user', id: 'u', name: 'U' } },
    ...(sealed !== undefined && { sealed }),
    ...{ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' },
  };
}

test('re-encrypts secrets with the current master key, and leaves unreadable ones unchanged', async () => {
  const [old, next, lost] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const before = await partsWith(old);
  const work = before.store.begin();
  const insert = (id: string, sealed: string | undefined) =>
    work.insert(before.connectors.records, connector(id, sealed));
  insert('a', before.envelope.seal('one', owner('a')));
  insert('b', before.envelope.seal('two', owner('elsewhere')));
  insert('c', undefined);
  insert('d', createEnvelope([lost]).seal('three', owner('d')));
  await work.commit();

  const rotating = await partsWith(next, old);
  expect(await rewrapSecrets(rotating)).toEqual({ rewrapped: 1, current: 0, unreadable: ['b', 'd'] });
  expect(await rewrapSecrets(rotating)).toEqual({ rewrapped: 0, current: 1, unreadable: ['b', 'd'] });
  const after = await partsWith(next);
  const sealed = (await after.connectors.records.get('a'))?.sealed ?? '';
  expect(after.envelope.open(sealed, owner('a'))).toBe('one');
  expect((await after.connectors.records.get('d'))?.version).toBe(1);
});

test('counts a secret whose record changes meanwhile, so that the next pass checks it', async () => {
  const [old, next] = [randomBytes(32), randomBytes(32)];
  const rotating = await partsWith(next, old);
  const { store, envelope } = rotating;
  const { records } = rotating.connectors;
  const sealed = (await partsWith(old)).envelope.seal('secret', owner('raced'));
  const stored = await inWork(store, async (work) => work.insert(records, connector('raced', sealed)));
  const rename = () => inWork(store, async (work) => work.replace(records, stored, { ...stored, name: 'renamed' }));
  let hasChanged = false;
  const begin = () => {
    const work = store.begin();
    const commit = work.commit.bind(work);
    work.commit = async () => {
      if (!hasChanged) await rename();
      hasChanged = true;
      return commit();
    };
    return work;
  };
  const racing = Object.create(store, { begin: { value: begin } });
  expect(await rewrapSecrets({ ...rotating, store: racing })).toMatchObject({ rewrapped: 1 });
  expect(envelope.isCurrent((await records.get('raced'))?.sealed ?? '')).toBe(false);
  expect(await rewrapSecrets(rotating)).toMatchObject({ rewrapped: 1 });
  expect(await records.get('raced')).toMatchObject({ name: 'renamed' });
  expect(envelope.isCurrent((await records.get('raced'))?.sealed ?? '')).toBe(true);
});
