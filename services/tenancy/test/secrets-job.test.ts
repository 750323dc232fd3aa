import { randomBytes } from 'node:crypto';
import { silentLog } from '@commonplace/kit/log';
import { createEnvelope } from '@commonplace/kit/secrets';
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

test('re-encrypts secrets with the current master key, and leaves unreadable ones unchanged', async () => {
  const [old, next, lost] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const before = await partsWith(old);
  const owner = (record: string) => ({ tenant: 'acme', record });
  const work = before.store.begin();
  const insert = (id: string, sealed: string | undefined) =>
    work.insert<Connector>(before.connectors.records, {
      id,
      tenant: 'acme',
      workspaceId: 'w',
      type: 's3',
      name: id,
      config: '{}',
      authType: 'api_key',
      status: 'active',
      ...(sealed === undefined ? {} : { sealed }),
      createdBy: { type: 'user', id: 'u', name: 'U' },
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
    });
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
