import { invalidField, LimitReached, NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { isWithinTimes, pageInOrder, replaceChanged } from '@commonplace/kit/store';
import { actorMessage } from '@commonplace/platform/actors';
import { ambiguousTarget, insertPin, missingTarget, movePin, orderPins } from '@commonplace/platform/pins';
import type {
  AgentPin,
  AgentService,
  CreateAgentPinRequest,
  ReorderAgentPinsRequest,
} from '@commonplace/proto/agents/v1/agent_service.js';
import type { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { seeAgent } from '../agents/access.js';
import type { Parts } from '../parts.js';
import type { AgentPinEntry, AgentPinList } from '../stores/agent-pins.js';
import type { AgentRecord } from '../stores/agents.js';

type PinHandlers = Pick<
  Handlers<AgentService>,
  'listAgentPins' | 'createAgentPin' | 'reorderAgentPins' | 'removeAgentPin'
>;
type OpenAgent = (agentId: string, context: CallContext) => Promise<AgentRecord>;

/** The pins of an agent; `record` is absent until something is pinned. */
interface Found {
  readonly pins: readonly AgentPinEntry[];
  readonly record: AgentPinList | undefined;
}

/** Creates the handlers for pins of agents. Pins of resources that the caller cannot read are hidden. */
export function createAgentPinHandlers(parts: Parts, open: OpenAgent): PinHandlers {
  const { agentPins, index } = parts;

  async function find(agentId: string, { work }: CallContext): Promise<Found> {
    const record = await work.get(agentPins, agentId);
    return { pins: record?.pins ?? [], record };
  }

  async function readable(ids: readonly string[], { onward }: CallContext): Promise<Items> {
    if (ids.length === 0) return new Map();
    const { resources } = await index.checkAccess({ ids: [...new Set(ids)] }, onward);
    return new Map(resources.map((resource) => [resource.id, resource]));
  }

  function save({ id, tenant }: AgentRecord, { record }: Found, pins: readonly AgentPinEntry[], context: CallContext) {
    const resourceIds = pins.map(({ resourceId }) => resourceId);
    const fields = { id, tenant, pins, resourceIds, updatedBy: context.actor, updatedAt: new Date().toISOString() };
    const { work } = context;
    return {
      pins,
      record: record === undefined ? work.insert(agentPins, fields) : replaceChanged(work, agentPins, record, fields),
    };
  }

  const idsOf = ({ pins }: Found) => pins.map(({ resourceId }) => resourceId);

  return {
    async listAgentPins({ agentId, page, ...times }, context) {
      await seeAgent(parts, agentId, context);
      const found = await find(agentId, context);
      const pins = pinMessages(found, await readable(idsOf(found), context));
      return pageInOrder(
        page,
        pins.filter((pin) => isWithinTimes(pin, times)),
      );
    },

    async createAgentPin(request, context) {
      const agent = await open(request.agentId, context);
      const { id: resourceId, param } = resourceOf(request);
      const found = await find(agent.id, context);
      const items = await readable([resourceId, ...idsOf(found)], context);
      if (!items.has(resourceId)) throw NotFound({}, { param });
      const answer = (list: Found) => pinMessages(list, items).find(({ item }) => item?.id === resourceId) as AgentPin;
      if (found.pins.some((pin) => pin.resourceId === resourceId)) {
        context.reply.status = 200;
        return answer(found);
      }
      const limit = parts.settings.agentPins;
      if (found.pins.length >= limit) throw LimitReached({ limit, what: 'pins of one agent' });
      const pin = { id: newId(), resourceId, addedBy: context.actor, createdAt: new Date().toISOString() };
      return answer(save(agent, found, insertPin(found.pins, pin, seenIn(items), request.position), context));
    },

    async reorderAgentPins(request, context) {
      const agent = await open(request.agentId, context);
      const found = await find(agent.id, context);
      const items = await readable(idsOf(found), context);
      const pins = reordered(found.pins, request, items);
      requireVersion(context, found.record?.version ?? 0, found.record);
      return pageInOrder(undefined, pinMessages(save(agent, found, pins, context), items));
    },

    async removeAgentPin({ agentId, pinId, resourceId }, context) {
      const agent = await open(agentId, context);
      if (pinId === undefined && resourceId === undefined) throw missingTarget('pin_id, resource_id');
      if (pinId !== undefined && resourceId !== undefined) throw ambiguousTarget('pin_id');
      const found = await find(agent.id, context);
      const pin = found.pins.find((one) => (pinId === undefined ? one.resourceId === resourceId : one.id === pinId));
      if (pin === undefined) throw NotFound();
      requireVersion(context, found.record?.version ?? 0, found.record);
      save(
        agent,
        found,
        found.pins.filter(({ id }) => id !== pin.id),
        context,
      );
      return { id: pin.id, deleted: true };
    },
  };
}

type Items = ReadonlyMap<string, AccessibleResource>;

const seenIn =
  (items: Items) =>
  ({ resourceId }: AgentPinEntry): boolean =>
    items.has(resourceId);

function reordered(
  pins: readonly AgentPinEntry[],
  { pinId, resourceId, position, order }: ReorderAgentPinsRequest,
  items: Items,
): AgentPinEntry[] {
  const sees = seenIn(items);
  if (order.length > 0) {
    if (pinId !== undefined || resourceId !== undefined) throw ambiguousTarget('order');
    if (position !== undefined) throw invalidField('position', 'invalid_value', 'must not be combined with order.');
    const sorted = orderPins(pins, order, sees);
    if (sorted === undefined) throw invalidField('order', 'invalid_value', 'must name every pin of the list once.');
    return sorted;
  }
  if (pinId === undefined && resourceId === undefined) throw missingTarget('pin_id, resource_id, order');
  if (pinId !== undefined && resourceId !== undefined) throw ambiguousTarget('pin_id');
  const pin = pins.filter(sees).find((one) => (pinId === undefined ? one.resourceId === resourceId : one.id === pinId));
  if (pin === undefined) throw NotFound();
  if (position === undefined) throw invalidField('position', 'missing_field', 'is required to move a pin.');
  return movePin(pins, pin, sees, position);
}

/** Returns the resource of a request, which names it in one of two fields. */
function resourceOf({ resourceId, item }: CreateAgentPinRequest): { readonly id: string; readonly param: string } {
  if (resourceId !== undefined && item !== undefined && item.id !== resourceId) throw ambiguousTarget('resource_id');
  const id = resourceId ?? item?.id;
  if (id === undefined) throw missingTarget('resource_id, item');
  return { id, param: resourceId === undefined ? 'item.id' : 'resource_id' };
}

function pinMessages({ pins, record }: Found, items: Items): AgentPin[] {
  const seen = pins.flatMap((pin) => {
    const item = items.get(pin.resourceId);
    return item === undefined ? [] : [{ pin, item }];
  });
  return seen.map(({ pin, item }, position) => ({
    id: pin.id,
    item: { type: 'resource', id: item.id, name: item.name, icon: item.icon },
    position,
    addedBy: actorMessage(pin.addedBy),
    createdAt: pin.createdAt,
    version: record?.version ?? 0,
  }));
}
