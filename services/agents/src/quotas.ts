import { LimitReached } from '@commonplace/kit/errors';
import { createQuota, quotaCollection } from '@commonplace/kit/quota';
import type { Store } from '@commonplace/kit/store';
import type { Parts, RunQuotas } from './parts.js';

export async function openRunQuotas(
  store: Store,
  { agents, runs, memories, settings }: Pick<Parts, 'agents' | 'runs' | 'memories' | 'settings'>,
): Promise<RunQuotas> {
  const records = await store.collection(quotaCollection);
  const active = { in: ['running', 'canceling'] };
  const refuse = (what: string) => (limit: number) => LimitReached({ limit, what });
  return {
    agents: createQuota(records, {
      name: 'agents_of_person',
      limit: settings.agentsPerUser,
      count: (ownerId) => agents.count({ ownerId }),
      refuse: refuse('agents of one person'),
    }),
    waiting: createQuota(records, {
      name: 'runs_waiting',
      limit: settings.runsWaiting,
      count: (tenant) => runs.count({ tenant, status: 'queued' }),
      refuse: refuse('waiting runs'),
    }),
    running: createQuota(records, {
      name: 'runs_running',
      limit: settings.runsRunning,
      count: (tenant) => runs.count({ tenant, status: active }),
      refuse: refuse('active runs'),
    }),
    perLane: createQuota(records, {
      name: 'runs_per_agent',
      limit: settings.runsPerAgent,
      count: (lane) => runs.count({ lane, status: active }),
      refuse: refuse('active runs of one agent'),
    }),
    memories: createQuota(records, {
      name: 'memories',
      limit: settings.memories,
      count: (holder) => memories.count({ holder }),
      refuse: refuse('memories of one scope'),
    }),
  };
}
