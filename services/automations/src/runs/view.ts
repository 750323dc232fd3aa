import { isObject } from '@commonplace/kit/json';
import type { CallContext } from '@commonplace/kit/rpc';
import type { MemberStanding } from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import { mayAdminister, type Place } from '../policy.js';
import type { RunParts } from './parts.js';
import type { AutomationRunRecord } from './records.js';
import type { RunView } from './wire.js';

type ViewContext = Pick<CallContext, 'caller' | 'actor'>;

/** Tells which parts of a run the caller may see. */
type ViewOf = (run: AutomationRunRecord) => RunView;

/**
 * Returns the parts of some runs that the caller may see. A run reads with one person's rights, so only that person and
 * administrators of the workspace see its data. Administrators see restricted items, but not the conversations of other
 * people: a run that a message has triggered shows its data to those of them who may see the message. The person who started
 * a run manually sees its input.
 */
export async function viewsOf(
  { peers, systemCall }: Pick<RunParts, 'peers' | 'systemCall'>,
  runs: readonly AutomationRunRecord[],
  place: Place,
  { caller: { userId }, actor }: ViewContext,
): Promise<ViewOf> {
  const others = mayAdminister(place) ? runs.filter(({ actsAs }) => actsAs.userId !== userId) : [];
  const ids = [...new Set(others.flatMap((run) => messageOf(run)?.conversationId ?? []))];
  const pairs = ids.map((conversationId) => ({ userId, conversationId }));
  const { standings } =
    pairs.length === 0 ? { standings: [] } : await peers.conversations.checkMembers({ pairs }, systemCall());
  const known = new Map(standings.map((standing) => [standing.conversationId, standing]));
  const showsData = (run: AutomationRunRecord): boolean => {
    if (run.actsAs.userId === userId) return true;
    const message = messageOf(run);
    return mayAdminister(place) && (message === undefined || isSeen(message, known.get(message.conversationId)));
  };
  return (run) => {
    const data = showsData(run);
    const isOwn = run.trigger.type === 'manual' && run.trigger.by.id === actor.id;
    return { showsData: data, showsInput: data || isOwn };
  };
}

interface TriggerMessage {
  readonly conversationId: string;
  /** Absent if the event is about the conversation as a whole. */
  readonly seq: number | undefined;
}

/** Returns the message or conversation that has triggered a run; undefined if the run has another cause. */
function messageOf({ input }: Pick<AutomationRunRecord, 'input'>): TriggerMessage | undefined {
  const event = isObject(input?.event) ? input.event : {};
  const { conversation_id: conversationId, seq } = isObject(event.data) ? event.data : {};
  if (typeof conversationId !== 'string') return undefined;
  return { conversationId, seq: typeof seq === 'number' ? seq : undefined };
}

function isSeen({ seq }: TriggerMessage, standing: MemberStanding | undefined): boolean {
  return standing?.isActive === true && (seq === undefined || seq >= standing.visibleFromSeq);
}
