import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { mode, type OwnSystem, startSystem } from '../src/system.js';

const ROOM = 4;
const BURST = 60;
// In a mesh the first start itself needs more capacity than this.
const inOneProcess = mode === 'embedded' ? test : test.skip;

let system: OwnSystem | undefined;
let by: Api;

beforeAll(async () => {
  if (mode !== 'embedded') return;
  system = await startSystem({ COMMONPLACE_MAX_CONCURRENT: String(ROOM) });
  by = api(system, system.owner.apiKey);
});
afterAll(() => system?.stop());

inOneProcess(
  'what there is no room for is refused as 503 with Retry-After, and probes never are',
  async () => {
    const { baseUrl } = system as OwnSystem;
    const probes: Promise<Response>[] = [];
    // The number of concurrent requests depends on the machine, so this is tried until some are refused.
    const refused = await eventually(async () => {
      // Writes wait for the disk, and therefore for each other.
      const burst = Array.from({ length: BURST }, () => by.post('/workspaces', { name: 'Met' }));
      probes.push(...burst.map(() => fetch(`${baseUrl}/health/live`)));
      const answers = await Promise.all(burst);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 503]));
      return answers.filter(({ status }) => status === 503);
    }, 30_000);
    for (const { headers, error } of refused) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(error).toMatchObject({ type: 'server', code: 'service_unavailable', retryable: true });
      expect(error.details).toEqual({ reason: 'overloaded' });
    }
    for (const probe of probes) expect((await probe).status).toBe(200);
    expect((await by.get('/me')).status).toBe(200);
  },
  60_000,
);
