import type { DomainEvent, EventBus, SubscribeOptions, Subscription } from '@commonplace/kit/events';
import { type EventName, PAYLOADS, type Payload } from './payloads.js';

/** An event with a typed payload: `event.name` determines the type of `event.data`. */
export type TypedEvent<Name extends EventName> = {
  [N in Name]: Omit<DomainEvent, 'type' | 'data'> & { readonly name: N; readonly data: Payload<N> };
}[Name];

/** A durable consumer and the events that it follows. */
interface ConsumerSpec<Name extends EventName> extends Omit<SubscribeOptions, 'types'> {
  /**
   * `<service>.<purpose>`, with hyphens between words. It must not change, because the consumer's position is stored
   * under it.
   */
  readonly consumer: string;
  readonly events: readonly Name[];
}

/** Events after which a person is no longer a member of a workspace or an Org. */
export const MEMBER_LEFT = ['tenancy.workspace_member.removed', 'tenancy.org_member.removed'] as const;

/** Names of consumers that are older than the naming rule. */
const FORMER_NAMES: ReadonlySet<string> = new Set([
  'agents.workspace_purges',
  'automations.agent_runs',
  'automations.work_item_runs',
  'files-purged',
  'resources-members',
]);
const NAME = /^[a-z]+(?:\.[a-z]+(?:-[a-z]+)*)$/;

/**
 * Subscribes a durable consumer. Calls its handler with one event at a time, in order; an event may be delivered more
 * than once.
 */
export function consume<const Name extends EventName>(
  bus: Pick<EventBus, 'subscribe'>,
  spec: ConsumerSpec<Name>,
  handle: (event: TypedEvent<Name>) => Promise<void>,
): Promise<Subscription> {
  return consumeBatches(bus, spec, async (events) => {
    for (const event of events) await handle(event);
  });
}

/** Subscribes a durable consumer whose handler takes up to `batch` events at once. */
export function consumeBatches<const Name extends EventName>(
  bus: Pick<EventBus, 'subscribe'>,
  { events: names, ...options }: ConsumerSpec<Name>,
  handle: (events: readonly TypedEvent<Name>[]) => Promise<void>,
): Promise<Subscription> {
  const { consumer } = options;
  if (!NAME.test(consumer) && !FORMER_NAMES.has(consumer)) throw new Error(`${consumer} is not a valid consumer name`);
  const types = names.map((name) => `commonplace.${name}`);
  return bus.subscribe({ ...options, types }, (events) => handle(events.map((event) => readEvent<Name>(event))));
}

/** Reads an event's payload; fields that it does not have get the default of their type. */
export function readEvent<Name extends EventName>({ type, data, ...event }: DomainEvent): TypedEvent<Name> {
  const name = type.slice('commonplace.'.length) as Name;
  const read: ((data: object) => object) | undefined = PAYLOADS[name];
  if (read === undefined) throw new Error(`${type} has no payload in the contract`);
  return { ...event, name, data: read(data) } as TypedEvent<Name>;
}
