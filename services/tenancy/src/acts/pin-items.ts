import { AppError } from '@commonplace/kit/errors';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import type { Parts, Peers } from '../parts.js';
import { type ItemRef, type ItemType, itemOf, type PinEntry, type ReadableItem } from '../stores/pins.js';

/** The items that a person may read. */
class ReadableItems {
  readonly #byId: ReadonlyMap<string, ReadableItem>;

  constructor(items: readonly ReadableItem[]) {
    this.#byId = new Map(items.map((item) => [item.id, item]));
  }

  get({ type, id }: ItemRef): ReadableItem | undefined {
    const item = this.#byId.get(id);
    return item?.type === type ? item : undefined;
  }

  /** Returns the item of a pin if it belongs to the workspace of the pin. */
  ofPin(pin: PinEntry, workspaceId: string): ReadableItem | undefined {
    const item = this.get(itemOf(pin));
    return item?.workspaceIds.includes(workspaceId) ? item : undefined;
  }

  /** Returns a predicate for the pins of a workspace whose items the person may read and that belong to it. */
  seenIn(workspaceId: string): (pin: PinEntry) => boolean {
    return (pin) => this.ofPin(pin, workspaceId) !== undefined;
  }
}

type IdsOf = (type: ItemType) => string[];

/** What tells which items of some types a person may read. */
interface Source {
  readonly types: readonly ItemType[];
  read(peers: Peers, idsOf: IdsOf, options: CallOptions): Promise<ReadableItem[]>;
}

const SOURCES: readonly Source[] = [
  {
    types: ['resource'],
    async read({ index }, idsOf, options) {
      const { resources } = await index.checkAccess({ ids: idsOf('resource') }, options);
      return resources.map(({ id, name, icon, workspaceId }) => ({
        ...{ type: 'resource', id, name, icon, workspaceIds: [workspaceId] },
      }));
    },
  },
  {
    types: ['agent', 'chat_session'],
    async read({ agents: directory }, idsOf, options) {
      const request = { agentIds: idsOf('agent'), chatSessionIds: idsOf('chat_session') };
      const { agents, chatSessions } = await directory.checkAccess(request, options);
      return [
        ...agents.map((agent) => ({ type: 'agent' as const, ...agent })),
        ...chatSessions.map(({ id, title, workspaceId }) => ({
          ...{ type: 'chat_session' as const, id, name: title, workspaceIds: [workspaceId] },
        })),
      ];
    },
  },
  {
    types: ['im_conversation'],
    async read({ conversations: directory }, idsOf, options) {
      const { conversations } = await directory.checkAccess({ conversationIds: idsOf('im_conversation') }, options);
      return conversations.map(({ id, name, icon, workspaceId }) => ({
        ...{ type: 'im_conversation', id, name, icon, workspaceIds: [workspaceId] },
      }));
    },
  },
  {
    types: ['automation'],
    async read({ work }, idsOf, options) {
      const { automations } = await work.checkAccess({ automationIds: idsOf('automation') }, options);
      return automations.map(({ id, name, workspaceId }) => ({
        ...{ type: 'automation', id, name, workspaceIds: [workspaceId] },
      }));
    },
  },
];

/**
 * Returns those of the given items that the caller may read, wherever they are: callers have to check the workspace.
 * Asks only the services that have items among them. Items of a service that does not answer, or is of a version without
 * this query, are left out, unless they are resources or of the type `needed`.
 */
export async function readableItems(
  parts: Parts,
  { onward }: CallContext,
  items: readonly ItemRef[],
  needed?: ItemType,
): Promise<ReadableItems> {
  const idsOf: IdsOf = (type) => [...new Set(items.flatMap((item) => (item.type === type ? [item.id] : [])))];
  const asked = SOURCES.filter(({ types }) => items.some(({ type }) => types.includes(type)));
  const found = asked.map(async (source) => {
    try {
      return await source.read(parts, idsOf, onward);
    } catch (error) {
      const isNeeded = source.types.some((type) => type === 'resource' || type === needed);
      if (isNeeded || !(error instanceof AppError && AWAY.has(error.code))) throw error;
      return [];
    }
  });
  return new ReadableItems((await Promise.all(found)).flat());
}

const AWAY: ReadonlySet<AppError['code']> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL']);
