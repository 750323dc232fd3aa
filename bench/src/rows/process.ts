import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.js';
import { fillWorkspace } from '../fill.js';
import { compare, median } from '../measure.js';
import { residentMiB } from '../processes.js';
import type { Check, Row } from '../row.js';
import { settle } from '../system.js';

const STARTS = 5;
const REST_MS = 10_000;
const FEW = 1000;
const SETTLE_SECONDS = 600;
/** The embeddings that `npm start` uses. */
const AS_STARTED = { COMMONPLACE_EMBEDDINGS: 'local' };

/** Measures how long the embedded system takes to start on existing data, and how much memory it uses. */
export async function measureProcess(bench: Bench): Promise<Row> {
  const used = bench.isShared;
  let measured = await bench.shared();
  if (!used) {
    const { workspaceId } = await fillWorkspace(measured.client, 'Small', FEW, 10);
    const path = `/api/v1/workspaces/${workspaceId}/resources?limit=50`;
    await compare([{ subject: measured.subject, requests: [{ method: 'GET', path }] }], bench.pace, bench.say);
  }
  const afterRun = residentMiB(measured.system.pid);
  // Existing data gets its vectors first, so that the embedder is idle afterwards, as it is most of the time.
  measured = await bench.restart(AS_STARTED);
  await settle(measured.system.pids, SETTLE_SECONDS);
  const times: number[] = [];
  for (let start = 1; start <= STARTS; start++) {
    measured = await bench.restart(AS_STARTED);
    times.push(measured.system.readyMs);
    bench.say(`start ${start}/${STARTS}: ready after ${Math.round(measured.system.readyMs)} ms`);
  }
  await sleep(REST_MS);
  const atRest = residentMiB(measured.system.pid);
  const checks: Check[] = [
    { what: 'start to ready', value: median(times) / 1000, unit: 's', right: 'at most', floor: 0.8, aim: 0.5 },
    { what: 'memory at rest', value: atRest, unit: 'MB', right: 'at most', floor: 140, aim: 120 },
    { what: 'memory after the run', value: afterRun, unit: 'MB', right: 'at most', floor: 400 },
  ];
  return { figures: [], checks, notes: [`the median of ${STARTS} starts; resident memory of the one process`] };
}
