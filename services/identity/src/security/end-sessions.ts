import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { credentialIdOf } from '../domain/session.js';
import { sessionEnded } from '../events.js';
import { type SessionRecord, sessionsOf } from '../stores/sessions.js';
import type { UserRecord } from '../stores/users.js';

/** Ends a person's sessions except one, in the call's unit of work. Returns the number of ended sessions. */
export async function endSessions(
  user: Pick<UserRecord, 'id' | 'name'>,
  except: string | undefined,
  context: CallContext,
  sessions: Collection<SessionRecord>,
): Promise<number> {
  const ending = (await sessionsOf(sessions, user.id)).filter(({ id }) => id !== except);
  for (const session of ending) {
    context.work.remove(sessions, session);
    context.work.publish(sessionEnded(context, credentialIdOf(session.id), user));
  }
  return ending.length;
}
