import { NotFound } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { AccountSecurityService, Session } from '@commonplace/proto/identity/v1/account_security_service.js';
import { credentialIdOf, hasEnded, type SessionLife } from '../domain/session.js';
import { sessionEnded } from '../events.js';
import { type SessionRecord, sessionsOf } from '../stores/sessions.js';
import { endSessions } from './end-sessions.js';
import { type RecencyParts, requireRecent, type SignedInParts, signedIn } from './signed-in.js';

type Methods = Pick<Handlers<AccountSecurityService>, 'listSessions' | 'endSession' | 'endOtherSessions'>;

export interface SessionListParts extends SignedInParts, RecencyParts {
  readonly sessionRecords: Collection<SessionRecord>;
  readonly sessionLife: SessionLife;
}

/** Creates the handlers by which a person lists and ends their browser sessions. */
export function createSessionListHandlers(parts: SessionListParts): Methods {
  const { sessionRecords, now } = parts;

  return {
    async listSessions({ session: cookie }) {
      const { record, user } = await signedIn(cookie, parts);
      const all = await sessionsOf(sessionRecords, user.id);
      const live = all.filter((each) => !hasEnded(each, now(), parts.sessionLife));
      const items = live.map((each) => toSession(each, record.id));
      return { items: items.sort((a, b) => ((a.lastUsedAt ?? '') < (b.lastUsedAt ?? '') ? 1 : -1)) };
    },

    async endSession({ session: cookie, sessionId }, context) {
      const { record, user } = await signedIn(cookie, parts);
      const all = await sessionsOf(sessionRecords, user.id);
      const found = all.find(({ id }) => credentialIdOf(id) === sessionId);
      if (found === undefined) throw NotFound();
      if (found.id !== record.id) await requireRecent(record, parts);
      context.work.remove(sessionRecords, found);
      context.work.publish(sessionEnded(context, sessionId, user));
      return { current: found.id === record.id };
    },

    async endOtherSessions({ session: cookie }, context) {
      const { record, user } = await signedIn(cookie, parts);
      await requireRecent(record, parts);
      return { sessionsEnded: await endSessions(user, record.id, context, sessionRecords) };
    },
  };
}

function toSession(record: SessionRecord, currentId: string): Session {
  const { id, device, network, createdAt, lastSeenAt: lastUsedAt, expiresAt } = record;
  return { id: credentialIdOf(id), device, network, createdAt, lastUsedAt, expiresAt, current: id === currentId };
}
