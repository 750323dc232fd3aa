import type { EndSessionRequest } from '@commonplace/proto/identity/v1/account_security_service.js';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { mountAccountAction } from '../auth/action.js';
import { requireCsrf, requireOwnPage } from '../auth/origin.js';
import { type AuthParts, callOf } from '../auth/parts.js';
import { sendData } from '../auth/respond.js';
import { forgetSession, requireSession } from '../auth/sessions.js';
import { doneAt, renderAccountErrors } from './view.js';

/** Serves the list of a person's sessions, and ends them. */
export function mountSessions(router: Router, parts: AuthParts): void {
  const { security, messages } = parts;
  const writeList = messages.writer('ListSessions');
  const writeEnded = messages.writer('EndSession');
  const writeCount = messages.writer('EndOtherSessions');
  const readId = messages.reader<EndSessionRequest>('EndSession', 'session_id');

  router.get('/auth/sessions', async (ctx) => {
    const { cookie } = await requireSession(ctx, parts);
    sendData(ctx, 200, writeList(await security.listSessions({ session: cookie }, callOf(ctx, parts))));
  });

  router.delete('/auth/sessions/:session_id', async (ctx) => {
    requireOwnPage(ctx, parts.publicOrigin);
    const { cookie, csrfToken } = await requireSession(ctx, parts);
    requireCsrf(ctx, '', csrfToken);
    const sessionId = String(ctx.params.session_id);
    const ended = await security.endSession({ session: cookie, sessionId }, callOf(ctx, parts));
    if (ended.current) forget(ctx, cookie);
    sendData(ctx, 200, writeEnded(ended));
  });

  mountAccountAction(router, parts, {
    path: '/auth/sessions/end',
    async run({ ctx, sent, session }) {
      const { sessionId } = readId(sent.body, sent.query);
      const ended = await security.endSession({ session, sessionId }, callOf(ctx, parts));
      if (ended.current) forget(ctx, session);
      return { data: writeEnded(ended), next: ended.current ? '/auth/sign-in' : doneAt('session_ended') };
    },
    renderErrors: renderAccountErrors(parts),
  });

  mountAccountAction(router, parts, {
    path: '/auth/sessions/end-others',
    async run({ ctx, sent, session }) {
      messages.nothing(sent.body, sent.query);
      const ended = await security.endOtherSessions({ session }, callOf(ctx, parts));
      return { data: writeCount(ended), next: doneAt('sessions_ended') };
    },
    renderErrors: renderAccountErrors(parts),
  });

  function forget(ctx: Context, cookie: string): void {
    parts.ended.add(cookie);
    forgetSession(ctx, parts);
  }
}
