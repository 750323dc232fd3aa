import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@commonplace/kit/config';
import { newId } from '@commonplace/kit/id';
import { agree } from '@commonplace/kit/installation';
import { silentLog } from '@commonplace/kit/log';
import { createEvent, installationContract } from '@commonplace/kit/testing';
import { describe, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { openEventInstallation, openNatsBus } from '../../src/nats/index.js';
import { openSqliteDatabase } from '../../src/sqlite/index.js';
import { deleteStreams, natsUrl } from '../servers.js';

async function deleteAll(stream: string): Promise<void> {
  await deleteStreams(stream).catch(() => {});
  const nc = await connect({ servers: natsUrl.replace(/^nats:\/\//, '') });
  const jsm = await jetstreamManager(nc);
  for (const name of ['INSTALLATION', 'HOLDER']) await jsm.streams.delete(`${stream}_${name}`).catch(() => {});
  await nc.close();
}

installationContract('streams of events', async () => {
  const stream = `I${newId().slice(-8).toUpperCase()}`;
  return {
    isShared: true,
    open: () => openEventInstallation({ url: natsUrl, stream }),
    async fill() {
      const bus = await openNatsBus({ url: natsUrl, stream });
      const event = { id: newId(), type: 'commonplace.test.happened', time: new Date().toISOString(), data: {} };
      await bus.publish([event as unknown as Parameters<typeof bus.publish>[0][number]]);
      await bus.close();
    },
    close: () => deleteAll(stream),
  };
});

test('a bus whose streams belong to another installation does not open and creates no streams', async () => {
  const stream = `I${newId().slice(-8).toUpperCase()}`;
  const verify = async () => {
    throw new ConfigError(['they are those of another']);
  };
  await expect(openNatsBus({ url: natsUrl, stream, verify })).rejects.toThrow('those of another');
  const nc = await connect({ servers: natsUrl.replace(/^nats:\/\//, '') });
  const jsm = await jetstreamManager(nc);
  await expect(jsm.streams.info(stream)).rejects.toThrow();
  await nc.close();
});

describe('servers that lost their disk', () => {
  test('are marked again before their streams are created again, so that new processes open them', async () => {
    const stream = `I${newId().slice(-8).toUpperCase()}`;
    const folder = mkdtempSync(join(tmpdir(), 'nats-installation-'));
    const database = await openSqliteDatabase({ file: join(folder, 'records.db') });
    const verify = async () => {
      const store = await openEventInstallation({ url: natsUrl, stream });
      await agree(database.installation(), [store], { adopt: [], log: silentLog }).finally(() => store.close());
    };
    await verify();
    const known = await database.installation().read();
    const bus = await openNatsBus({ url: natsUrl, stream, verify });
    try {
      await bus.publish([createEvent('before')]);
      await deleteAll(stream);
      // The same process continues on its open connection, and publishers retry, as relays do.
      await expect(bus.publish([createEvent('lost')])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await bus.publish([createEvent('after')]);
      const mark = await openEventInstallation({ url: natsUrl, stream });
      const found = { id: await mark.readId(), isEmpty: await mark.isEmpty() };
      await mark.close();
      expect(found).toEqual({ id: known?.installationId, isEmpty: false });
      const next = await openNatsBus({ url: natsUrl, stream, verify });
      await next.publish([createEvent('by another')]);
      await next.close();
    } finally {
      await bus.close();
      await deleteAll(stream);
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
