import type Router from '@koa/router';
import { type AuthParts, callOf } from '../auth/parts.js';
import { sendData } from '../auth/respond.js';
import { requireSession } from '../auth/sessions.js';
import { mountEmail } from './email.js';
import { mountKeys } from './keys.js';
import { mountPasskeys } from './passkeys.js';
import { mountPasswords } from './passwords.js';
import { mountSessions } from './sessions.js';
import { mountTotp } from './totp.js';
import { mountAccountPage } from './view.js';

/** Serves the actions of people on their own account, as pages and as JSON. */
export function mountAccount(router: Router, parts: AuthParts): void {
  const writeSecurity = parts.messages.writer('GetSecurity');
  router.get('/auth/security', async (ctx) => {
    const { cookie } = await requireSession(ctx, parts);
    sendData(ctx, 200, writeSecurity(await parts.security.getSecurity({ session: cookie }, callOf(ctx, parts))));
  });
  mountAccountPage(router, parts);
  mountSessions(router, parts);
  mountPasswords(router, parts);
  mountKeys(router, parts);
  mountTotp(router, parts);
  mountPasskeys(router, parts);
  mountEmail(router, parts);
}
