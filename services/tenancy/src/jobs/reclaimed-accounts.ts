import type { EventBus, Subscription } from '@commonplace/kit/events';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import { disconnect } from '../acts/disconnect.js';
import { publishing } from '../events.js';
import type { Parts } from '../parts.js';

/**
 * Deletes the connections of an account that were made before the owner of its address took it over: they may be to
 * somebody else's accounts in other systems.
 */
export function watchReclaimedAccounts(parts: Parts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'tenancy.reclaimed-accounts', events: ['identity.user.reclaimed'] } as const;
  return consume(bus, spec, (event) => follow(parts, event));
}

async function follow(parts: Parts, { data, time }: TypedEvent<'identity.user.reclaimed'>): Promise<void> {
  if (data.userId === '') return;
  const connections = await parts.connectors.connectionsOfPerson(data.userId);
  const work = parts.store.begin();
  await disconnect(
    parts,
    publishing(work),
    connections.filter(({ createdAt }) => createdAt <= time),
  );
  if (work.dirty) await work.commit();
}
