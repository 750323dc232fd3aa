import type { Tally } from '../tally.js';
import { soakAgents } from './agents.js';
import { soakMeshAutomations } from './automations.js';
import { soakBroker } from './broker.js';
import { type Mesh, startMesh } from './mesh.js';
import { soakRolling } from './rolling.js';
import { missingServers } from './servers.js';
import { soakStore } from './store.js';
import { soakTakeover } from './takeover.js';

export const MESH_PARTS = ['nats', 'store', 'takeover', 'rolling', 'agents', 'automations-mesh'] as const;
type MeshPart = (typeof MESH_PARTS)[number];

/** Number of rounds of a full run. Below, requests per second while processes are restarted. */
export const MESH_ROUNDS = {
  ...{ nats: 5, store: 10, takeover: 5, rolling: 10, agents: 2 },
  'automations-mesh': 20,
} as const;
export const MESH_RATE = 100;

export interface MeshRounds {
  /** Number of restarts of every part. Below, requests per second meanwhile. */
  readonly rolling: number;
  readonly rate: number;
  /** Number of losses of the broker with its disk. */
  readonly nats: number;
  /** Number of kills of the store. */
  readonly store: number;
  /** Number of kills of a process that leads consumers. */
  readonly takeover: number;
  /** Number of restarts of every part in the middle of runs. */
  readonly agents: number;
  /** Number of kills of a process that executes automations. */
  readonly automations: number;
}

/**
 * Returns the number of rounds of each part. A short run has `rounds` of each, and a fifth as many of those that
 * restart every part.
 */
export function meshRounds(parts: ReadonlySet<string>, rounds: number | undefined, rate: number): MeshRounds {
  const of = (part: MeshPart, short = rounds) => (parts.has(part) ? (short ?? MESH_ROUNDS[part]) : 0);
  const few = rounds === undefined ? undefined : Math.ceil(rounds / 5);
  return {
    rolling: of('rolling', few),
    agents: of('agents', few),
    rate,
    nats: of('nats'),
    store: of('store'),
    takeover: of('takeover'),
    automations: of('automations-mesh'),
  };
}

/**
 * Tests faults of a mesh of real processes on real servers, one kind after another. 0 rounds omit a kind. Skipped if
 * the servers can't be installed.
 */
export async function soakMesh(rounds: MeshRounds, home: string, tally: Tally): Promise<void> {
  const missing = await missingServers();
  if (missing !== undefined) {
    tally.skip('faults of a mesh', `its servers can't be had: ${missing}`);
    return;
  }
  const mesh = await startMesh(home);
  try {
    if (rounds.nats > 0) await soakBroker(mesh, rounds.nats, tally);
    if (rounds.store > 0) await soakStore(mesh, rounds.store, tally);
    if (rounds.takeover > 0) await soakTakeover(mesh, rounds.takeover, tally);
    if (rounds.rolling > 0) await soakRolling(mesh, rounds.rolling, rounds.rate, tally);
    if (rounds.agents > 0) await soakAgents(mesh, rounds.agents, tally);
    if (rounds.automations > 0) await soakMeshAutomations(mesh, rounds.automations, tally);
    tally.check('no process has ended by itself', endedIn(mesh));
    tally.check('no event was given up', mesh.said('events.parked'));
  } finally {
    await mesh.stop();
  }
}

function endedIn(mesh: Mesh): string[] {
  return mesh.ended().map((name) => `${name} has ended`);
}
