import { Readable } from 'node:stream';
import { newId } from '@commonplace/kit/id';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fetchSource } from '../../src/imports/jobs/fetch-source.js';
import type { Hold } from '../../src/imports/jobs/hold.js';
import { ImportFault } from '../../src/imports/sources/port.js';
import { openParts, type TestParts } from '../parts.js';

let played: TestParts;
beforeAll(async () => {
  played = await openParts();
});
afterAll(() => played.close());

const record = { id: newId(), tenant: newId(), url: 'https://example.org/a.md', sourceType: 'markdown' };
const hold = { record, save: async () => {} } as unknown as Hold;

/** Fetches a source that sends a body, or fails. */
function fetchFrom(fetch: () => Promise<unknown>, more: object = {}): Promise<void> {
  return fetchSource(played.other({ guard: { of: async () => ({ fetch }) } as never, ...more }) as never, hold);
}

const answer = (body: Readable, status = 200) => ({ status, headers: {}, body });

describe('the source of an import', () => {
  test('is neither blamed nor fetched again when its bytes cannot be stored', async () => {
    let fetched = 0;
    const fetch = async () => {
      fetched++;
      return answer(Readable.from([Buffer.from('# A')]));
    };
    const put = async (_key: string, source: AsyncIterable<Uint8Array>) => {
      for await (const _ of source) throw new Error('no space left on device');
    };
    const failed = fetchFrom(fetch, { bytes: { ...played.parts.bytes, put } });
    await expect(failed).rejects.toThrow('no space left on device');
    await expect(failed).rejects.not.toBeInstanceOf(ImportFault);
    expect(fetched).toBe(1);
  });

  test('is fetched again when it fails, then reported as the reason', async () => {
    const failures = [
      () => Promise.reject(new Error('connect ECONNREFUSED')),
      async () => answer(Readable.from([]), 503),
      async () => answer(Readable.from(brokenOff())),
    ];
    let fetched = 0;
    const failed = fetchFrom(() => (failures[fetched++] as () => Promise<unknown>)());
    await expect(failed).rejects.toMatchObject({ code: 'dependency_unavailable', retryable: true });
    expect(fetched).toBe(failures.length);
  });
});

async function* brokenOff(): AsyncGenerator<Buffer> {
  yield Buffer.from('# A');
  throw new Error('aborted');
}
