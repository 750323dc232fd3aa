import type { Run } from '../chat.js';
import type { Stage } from './stage.js';

interface TaintedRun extends Run {
  readonly taint_sources: readonly { readonly type: string }[];
}

const ENDED = ['completed', 'failed', 'canceled', 'expired', 'awaiting_approval'];

/** Milliseconds after which a run that has neither ended nor asked for approval counts as stuck. */
const STUCK_MS = 30_000;

/** Starts a run, and waits until it has ended or asks for approval. */
export async function runOf({ owner, workspace }: Stage, agentId: string, input: string): Promise<TaintedRun> {
  const body = { workspace_id: workspace.id, agent_id: agentId, input };
  const { data: started, status, text } = await owner.post<TaintedRun>('/agent-runs', body);
  if (status !== 201) throw new Error(text);
  const until = Date.now() + STUCK_MS;
  for (;;) {
    const { data } = await owner.get<TaintedRun>(`/agent-runs/${started.id}?wait_seconds=15&include=steps`);
    if (ENDED.includes(data.status)) return data;
    if (Date.now() > until) throw new Error(`the run is ${data.status}: ${JSON.stringify(data.steps)}`);
  }
}

/** Returns the tool calls of a run without the search that every run starts with. */
export const callsOf = ({ steps = [] }: Pick<Run, 'steps'>) =>
  steps.filter(({ type, seq }) => type === 'tool_call' && seq > 1);

/** Maximum number of concurrent requests and runs. */
const AT_ONCE = 12;

export async function eachOf<T, R>(all: readonly T[], work: (one: T, i: number) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  const queue = [...all.entries()];
  const next = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) done[one[0]] = await work(one[1], one[0]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return done;
}
