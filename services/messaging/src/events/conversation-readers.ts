import type { CallContext } from '@commonplace/kit/rpc';
import type {
  GetCountsResponse,
  MemberPair,
  MemberStanding,
} from '@commonplace/proto/messaging/v1/conversation_access_service.js';

/** Who reads conversations, as their part of the service says. */
export interface ConversationReaders {
  /** Says for pairs of a person and a conversation whether the person is an active member now, in the order of the pairs. */
  standingsOf(pairs: readonly MemberPair[], context: CallContext): Promise<MemberStanding[]>;
  /** Returns the caller's marker and counts. Throws NotFound for a conversation that they are no member of. */
  countsOf(conversationId: string, context: CallContext): Promise<GetCountsResponse>;
}
