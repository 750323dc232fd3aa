import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Bench, Measured } from '../bench.js';
import { createResource, createWorkspace, sentence } from '../fill.js';
import { compare } from '../measure.js';
import type { Check, Row } from '../row.js';
import { settle } from '../system.js';

const FEW = 100;
/** Maximum number of children of a resource. */
const MANY = 10_000;
const WIDTH = 64;
const LIMIT = 50;
const SETTLE_SECONDS = 120;

/**
 * Measures listing 50 children of a folder with the total number: the beginning and the end of a full folder, and a
 * small folder.
 */
export async function measureFolder(bench: Bench): Promise<Row> {
  const { subject, client, system } = await bench.shared();
  const workspaceId = await createWorkspace(client, 'Folders');
  const small = await fillFolder(client, workspaceId, FEW);
  const large = await fillFolder(client, workspaceId, MANY);
  await settle(system.pids, SETTLE_SECONDS);
  const requestsOf = (folder: string, offset = 0) => {
    const query = `parent_id=${folder}&limit=${LIMIT}&offset=${offset}`;
    return [{ method: 'GET', path: `/api/v1/workspaces/${workspaceId}/resources?${query}` }] as const;
  };
  const figures = await compare(
    [
      { subject, about: `a folder of ${MANY}`, requests: requestsOf(large) },
      { subject, about: `the end of it`, requests: requestsOf(large, MANY - LIMIT) },
      { subject, about: `a folder of ${FEW}`, requests: requestsOf(small) },
    ],
    bench.pace,
    bench.say,
  );
  const [first, end, few] = figures.map(({ p95 }) => p95);
  const beside = (what: string, value: number | undefined, floor: number): Check => ({
    what: `p95 of ${what} beside a folder of ${FEW}`,
    value: (value ?? Number.NaN) / (few ?? Number.NaN),
    unit: '×',
    right: 'at most',
    floor,
  });
  return { figures, checks: [beside(`a folder of ${MANY}`, first, 2), beside('its end', end, 6)] };
}

async function fillFolder(client: Measured['client'], workspaceId: string, count: number): Promise<string> {
  const folder = await createResource(client, { type: 'folder', name: `${count} children`, workspace_id: workspaceId });
  const numbers = Array.from({ length: count }, (_, i) => i);
  await forEach(numbers, WIDTH, (i) =>
    createResource(client, { type: 'document', name: `${sentence(i, 4)} ${i}`, parent_id: folder }),
  );
  return folder;
}
