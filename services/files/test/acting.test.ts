import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { actingFor as actingForArchive } from '../src/archives/acting.js';
import { actingFor as actingForImport } from '../src/imports/jobs/acting.js';

let asked = 0;
beforeEach(() => {
  asked = 0;
});
afterEach(() => expect(asked).toBeGreaterThan(0));

const parts = {
  auth: {
    actAs: async () => {
      asked += 1;
      return { token: `t${asked}`, expiresAt: new Date(Date.now() + 30_000).toISOString() };
    },
  },
  systemCall: () => ({ metadata: {} }),
} as never;
const record = { userId: 'u', orgId: '' } as never;

describe.each([
  ['an export', () => actingForArchive(parts, record)],
  ['an import', () => actingForImport(parts, record)],
])('%s', (_, open) => {
  test('uses a token for a second, so that a disabled account acts no longer', async () => {
    const acting = open();
    const tokens = async () => [(await acting()).metadata?.token, (await acting()).metadata?.token];
    expect(await tokens()).toEqual(['t1', 't1']);
    await sleep(1_050);
    expect(await tokens()).toEqual(['t2', 't2']);
  });
});
