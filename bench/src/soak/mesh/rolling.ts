import { setTimeout as sleep } from 'node:timers/promises';
import type { Tally } from '../tally.js';
import { startLoad } from './load.js';
import type { Mesh } from './mesh.js';
import { mixedLoad } from './mixed.js';

/** Milliseconds of load before the first restart and after the last one. */
const AROUND_MS = 2000;

/**
 * Restarts every part of a mesh one after another, `rounds` times, under `rate` requests per second. Checks that no
 * request fails.
 */
export async function soakRolling(mesh: Mesh, rounds: number, rate: number, tally: Tally): Promise<void> {
  const client = mesh.balancer.client(mesh.apiKey);
  const kinds = await mixedLoad(client);
  for (let round = 1; round <= rounds; round++) {
    const load = startLoad(client, kinds, rate);
    await sleep(AROUND_MS);
    const ends = [];
    for (const part of mesh.parts) ends.push({ part, took: await restart(mesh, part) });
    await sleep(AROUND_MS);
    const { sent, perSecond, failures, median, slowest } = await load.stop();
    tally.check(`no request fails while every part is restarted (round ${round})`, failures);
    const slow = ends.reduce((most, one) => (one.took > most.took ? one : most));
    console.log(
      `rolling ${round}/${rounds}: ${mesh.parts.length} parts restarted under ${perSecond.toFixed(0)} requests/s: ` +
        `${sent} sent, ${failures.length} failed, median ${Math.round(median)} ms, slowest ${Math.round(slowest)} ms; ` +
        `slowest end ${slow.part} ${Math.round(slow.took)} ms`,
    );
  }
}

/**
 * Starts the new processes of a part, then drains the old ones. Returns the milliseconds that the slowest took to end.
 */
export async function restart(mesh: Mesh, part: string): Promise<number> {
  const old = [...mesh.pods(part)];
  for (const _ of old) await mesh.add(part);
  let took = 0;
  for (const pod of old) took = Math.max(took, await mesh.retire(pod));
  return took;
}
