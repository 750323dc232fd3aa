import type {
  CompletePasskeyRegistrationRequest,
  RemovePasskeyRequest,
  RenamePasskeyRequest,
} from '@commonplace/proto/identity/v1/account_security_service.js';
import type Router from '@koa/router';
import { mountAccountAction } from '../auth/action.js';
import { requireCsrf, requireOwnPage } from '../auth/origin.js';
import { type AuthParts, callOf, originOf } from '../auth/parts.js';
import { withCredential, writeOptions } from '../auth/passkey-messages.js';
import { sendData } from '../auth/respond.js';
import { requireSession } from '../auth/sessions.js';
import { doneAt, renderAccountErrors } from './view.js';

const REMOVED = '{"removed":true}';

/** Serves the passkeys of an account: lists, adds, renames and removes them. */
export function mountPasskeys(router: Router, parts: AuthParts): void {
  const { security, messages } = parts;
  const readNew = messages.reader<CompletePasskeyRegistrationRequest>(
    'CompletePasskeyRegistration',
    'name',
    'credential',
  );
  const readRenamed = messages.reader<RenamePasskeyRequest>('RenamePasskey', 'passkey_id', 'name');
  const readRemoved = messages.reader<RemovePasskeyRequest>('RemovePasskey', 'passkey_id');
  const writeList = messages.writer('ListPasskeys');
  const write = messages.writer('RenamePasskey');

  router.get('/auth/passkeys', async (ctx) => {
    const { cookie: session } = await requireSession(ctx, parts);
    sendData(ctx, 200, writeList(await security.listPasskeys({ session }, callOf(ctx, parts))));
  });

  router.delete('/auth/passkeys/:passkey_id', async (ctx) => {
    requireOwnPage(ctx, parts.publicOrigin);
    const { cookie: session, csrfToken } = await requireSession(ctx, parts);
    requireCsrf(ctx, '', csrfToken);
    const { passkeyId } = readRemoved({ passkey_id: String(ctx.params.passkey_id) }, ctx.query);
    await security.removePasskey({ session, passkeyId }, callOf(ctx, parts));
    sendData(ctx, 200, REMOVED);
  });

  mountAccountAction(router, parts, {
    path: '/auth/passkeys/register/begin',
    async run({ ctx, sent, session }) {
      messages.nothing(sent.body, sent.query);
      return { data: writeOptions(await security.beginPasskeyRegistration({ session }, callOf(ctx, parts))) };
    },
    renderErrors: renderAccountErrors(parts),
  });

  mountAccountAction(router, parts, {
    path: '/auth/passkeys/register',
    async run({ ctx, sent, session }) {
      const { name, credential } = readNew(withCredential(sent.body), sent.query);
      const { userAgent } = originOf(ctx);
      const request = { session, name, credential, userAgent };
      const passkey = await security.completePasskeyRegistration(request, callOf(ctx, parts));
      return { data: write(passkey), next: doneAt('passkey_added') };
    },
    renderErrors: renderAccountErrors(parts),
  });

  mountAccountAction(router, parts, {
    path: '/auth/passkeys/rename',
    async run({ ctx, sent, session }) {
      const { passkeyId, name } = readRenamed(sent.body, sent.query);
      const passkey = await security.renamePasskey({ session, passkeyId, name }, callOf(ctx, parts));
      return { data: write(passkey), next: doneAt('passkey_renamed') };
    },
    renderErrors: renderAccountErrors(parts),
  });

  mountAccountAction(router, parts, {
    path: '/auth/passkeys/remove',
    async run({ ctx, sent, session }) {
      const { passkeyId } = readRemoved(sent.body, sent.query);
      await security.removePasskey({ session, passkeyId }, callOf(ctx, parts));
      return { data: REMOVED, next: doneAt('passkey_removed') };
    },
    renderErrors: renderAccountErrors(parts),
  });
}
