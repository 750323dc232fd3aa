import type { Bench } from '../bench.js';
import { compareBeside } from '../beside.js';
import { fillWorkspace } from '../fill.js';
import { type Check, type Row, ratioOf } from '../row.js';
import { startBareKoa } from '../subjects/limit.js';
import { settle } from '../system.js';

const FEW = 1000;
/** Resources per folder. It is the same in both workspaces, so that they differ only in size. */
const PER_FOLDER = 100;
/** Timeout in seconds for indexing a workspace, long enough for a large one. */
const SETTLE_SECONDS = 600;

/** Measures listing 50 resources of a workspace with the total number, in a small and in a large workspace. */
export async function measureList(bench: Bench): Promise<Row> {
  const { subject, client, system } = await bench.shared();
  const { many } = bench.options;
  const small = await fillWorkspace(client, 'Small', FEW, FEW / PER_FOLDER);
  const large = await fillWorkspace(client, 'Large', many, many / PER_FOLDER);
  const rate = many / large.seconds;
  bench.say(`created ${many} resources at ${Math.round(rate)}/s; waiting until the system has indexed them`);
  await settle(system.pids, SETTLE_SECONDS);

  const pathOf = (workspaceId: string) => `/api/v1/workspaces/${workspaceId}/resources?limit=50`;
  const requestsOf = (workspaceId: string) => [{ method: 'GET', path: pathOf(workspaceId) } as const];
  const answer = await client.send('GET', `/workspaces/${small.workspaceId}/resources?limit=50`);
  const limit = { method: 'GET', path: '/api/v1/workspaces/:id/resources', status: answer.status } as const;
  const figures = await compareBeside(
    bench,
    [
      { subject, about: `${FEW} resources`, requests: requestsOf(small.workspaceId) },
      { subject, about: `${many} resources`, requests: requestsOf(large.workspaceId) },
    ],
    () => startBareKoa({ ...limit, answers: [answer.text] }),
  );
  const [few, , lots] = figures;
  const growth: Check = {
    what: `p95 of ${many} resources beside that of ${FEW}`,
    value: (lots?.p95 ?? Number.NaN) / (few?.p95 ?? Number.NaN),
    unit: '×',
    right: 'at most',
    floor: 1.5,
  };
  const filling: Check = { what: 'creations by the API', value: rate, unit: '/s', right: 'at least', floor: 2000 };
  const notes = [`an answer of ${Buffer.byteLength(answer.text)} bytes`];
  return { figures, checks: [ratioOf(figures, 0.06), growth, filling], notes };
}
