import type { ParkedEvent } from '@commonplace/kit/events';
import { openParkedBeside, type ParkedBeside } from '@commonplace/platform/runtime';
import { CommandError, EXIT, noDatabase } from './exit.js';
import type { Selection } from './selection.js';
import { readPlaces } from './settings.js';

/** A parked event as operators see it. */
interface ParkedEventView {
  readonly consumer: string;
  readonly id: string;
  readonly type: string;
  readonly tenant: string | undefined;
  readonly subject: string;
  readonly time: string;
  readonly attempts: number;
  readonly error: string;
}

/** Selects parked events: those of one consumer or of all, or those with some ids. */
interface ParkedSelection {
  readonly consumer: string | undefined;
  readonly ids: Selection;
}

/**
 * Lists the parked events of all consumers or of one. Those of a consumer come in the order in which they were parked.
 */
export function listParkedEvents(env: NodeJS.ProcessEnv, consumer?: string): Promise<ParkedEventView[]> {
  return withParked(env, async (parked) => {
    const found: ParkedEventView[] = [];
    for (const name of await consumersOf(parked, consumer)) {
      found.push(...(await parked.parked(name)).map((event) => view(name, event)));
    }
    return found;
  });
}

/**
 * Delivers parked events again, or deletes them. Returns their number. Throws if an id does not belong to a parked
 * event.
 */
export function handleParkedEvents(
  env: NodeJS.ProcessEnv,
  action: 'retry' | 'delete',
  { consumer, ids }: ParkedSelection,
): Promise<number> {
  return withParked(env, async (parked) => {
    const consumers = await consumersOf(parked, consumer);
    if (ids !== 'all') await requireParked(parked, consumers, ids);
    const some = ids === 'all' ? undefined : ids;
    let handled = 0;
    for (const name of consumers) {
      handled += action === 'retry' ? await parked.unpark(name, some) : await parked.dropParked(name, some);
    }
    return handled;
  });
}

async function consumersOf(parked: ParkedBeside, consumer: string | undefined): Promise<string[]> {
  if (consumer === undefined) return parked.parkedConsumers();
  const known = await parked.consumers();
  if (known.includes(consumer)) return [consumer];
  throw new CommandError(EXIT.usage, `there is no consumer ${consumer}; there are ${known.join(', ') || 'none yet'}`);
}

async function requireParked(parked: ParkedBeside, consumers: readonly string[], ids: readonly string[]) {
  const known = new Set<string>();
  for (const name of consumers) for (const { event } of await parked.parked(name)) known.add(event.id);
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw new CommandError(EXIT.missing, `no event ${unknown} is parked`);
}

function view(consumer: string, { event, attempts, error }: ParkedEvent): ParkedEventView {
  const { id, type, tenant, subject, time } = event;
  return { consumer, id, type, tenant, subject, time, attempts, error };
}

async function withParked<T>(env: NodeJS.ProcessEnv, work: (parked: ParkedBeside) => Promise<T>): Promise<T> {
  const places = readPlaces(env);
  const parked = await openParkedBeside(places);
  if (parked === undefined) throw noDatabase(places.dataDir);
  try {
    return await work(parked);
  } finally {
    await parked.close();
  }
}
