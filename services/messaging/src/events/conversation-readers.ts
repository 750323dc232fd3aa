import type { CallContext } from '@commonplace/kit/rpc';
import type {
  GetCountsResponse,
  MemberPair,
  MemberStanding,
} from '@commonplace/proto/messaging/v1/conversation_access_service.js';

/** Reads memberships and counts from the conversation feature of this service. */
export interface ConversationReaders {
  /**
   * Returns for each pair of a person and a conversation whether the person is an active member now, in the order of
   * the pairs.
   */
  membershipsOf(pairs: readonly MemberPair[], context: CallContext): Promise<MemberStanding[]>;
  /** Returns those of some messages that have not been deleted. */
  presentMessages(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns the caller's marker and counts. Throws NotFound for a conversation that the caller is not a member of. */
  countsOf(conversationId: string, context: CallContext): Promise<GetCountsResponse>;
}
