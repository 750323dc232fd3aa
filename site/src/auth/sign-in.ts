import { defineError } from '@commonplace/kit/errors';
import type { CompletePasskeySignInRequest } from '@commonplace/proto/identity/v1/account_security_service.js';
import type {
  CompleteSignInRequest,
  SecondFactorChallenge,
  SignInResponse,
} from '@commonplace/proto/identity/v1/auth_service.js';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { mountOpenAction } from './action.js';
import { safeNext } from './next.js';
import { optionsOf } from './options.js';
import { requireOwnPage } from './origin.js';
import { accountPage, errorPage, type SignInWays, signInPage } from './pages.js';
import { type AuthParts, callOf, originOf } from './parts.js';
import { allowsPasskeys, withCredential, writeOptions } from './passkey-messages.js';
import { orPage, seeOther, sendData, sendPage } from './respond.js';
import { secondFactorPage } from './second-factor-page.js';
import { beginSession, findSession } from './sessions.js';
import { readSubmission, type Submission } from './submission.js';

export function mountSignIn(router: Router, parts: AuthParts): void {
  mountSecondFactor(router, parts);
  mountPasskeySignIn(router, parts);
  router.get('/auth/sign-in', (ctx) =>
    orPage(
      ctx,
      async () => {
        const session = await findSession(ctx, parts);
        const { next = '' } = ctx.query;
        if (session !== undefined) return sendPage(ctx, 200, accountPage(session.user, session.csrfToken));
        sendPage(ctx, 200, signInPage(await waysOf(ctx, parts, String(next))));
      },
      errorPage,
    ),
  );

  router.post('/auth/sign-in', async (ctx) => {
    const sent = await readSubmission(ctx);
    if (sent.kind === 'json') return signIn(ctx, parts, sent);
    const ways = await waysOf(ctx, parts, sent.next);
    return orPage(
      ctx,
      () => signIn(ctx, parts, sent),
      (errors) => signInPage(ways, { values: sent.body, errors }),
    );
  });
}

async function waysOf(ctx: Context, parts: AuthParts, next: string): Promise<SignInWays> {
  const { oidc } = await optionsOf(ctx, parts);
  const { publicOrigin } = parts;
  return { next, safeNext: safeNext(next, publicOrigin), oidc, passkeys: allowsPasskeys(publicOrigin) };
}

async function signIn(ctx: Context, parts: AuthParts, { kind, body, query, next }: Submission): Promise<void> {
  requireOwnPage(ctx, parts.publicOrigin);
  const { email, password, code } = parts.messages.signIn(body, query);
  const answer = await parts.auth.signIn({ email, password, code, ...originOf(ctx) }, callOf(ctx, parts));
  const { secondFactor } = answer;
  if (secondFactor === undefined) return signedIn(ctx, parts, answer, { kind, next });
  if (kind === 'json') throw SecondFactorRequired(toDetails(secondFactor));
  sendPage(ctx, 200, secondFactorPage(secondFactor.challenge, next));
}

/** Serves the second step of a sign-in, which checks a code. */
function mountSecondFactor(router: Router, parts: AuthParts): void {
  const read = parts.messages.reader<CompleteSignInRequest>('CompleteSignIn', 'challenge', 'code');
  const complete = async (ctx: Context, { kind, body, query, next }: Submission) => {
    requireOwnPage(ctx, parts.publicOrigin);
    const request = { ...read(body, query), ...originOf(ctx) };
    const answer = await parts.auth.completeSignIn(request, callOf(ctx, parts));
    await signedIn(ctx, parts, answer, { kind, next });
  };
  router.post('/auth/second-factor', async (ctx) => {
    const sent = await readSubmission(ctx);
    if (sent.kind === 'json') return complete(ctx, sent);
    const challenge = String(sent.body.challenge ?? '');
    return orPage(
      ctx,
      () => complete(ctx, sent),
      (errors) => secondFactorPage(challenge, sent.next, { values: {}, errors }),
    );
  });
}

/** Serves sign-in with a passkey, which needs no second step. */
function mountPasskeySignIn(router: Router, parts: AuthParts): void {
  const { security, messages } = parts;
  const read = messages.reader<CompletePasskeySignInRequest>('CompletePasskeySignIn', 'credential');

  mountOpenAction(router, parts, {
    path: '/auth/passkeys/sign-in/begin',
    async run({ ctx, sent }) {
      messages.nothing(sent.body, sent.query);
      return { data: writeOptions(await security.beginPasskeySignIn({}, callOf(ctx, parts))) };
    },
  });

  router.post('/auth/passkeys/sign-in', async (ctx) => {
    const { kind, next, body, query } = await readSubmission(ctx);
    requireOwnPage(ctx, parts.publicOrigin);
    const { credential } = read(withCredential(body), query);
    const request = { credential, ...originOf(ctx) };
    const answer = await security.completePasskeySignIn(request, callOf(ctx, parts));
    await signedIn(ctx, parts, answer, { kind, next });
  });
}

/** Sets the session cookie. Then redirects if a form was sent, or responds with the session as JSON. */
async function signedIn(
  ctx: Context,
  parts: AuthParts,
  answer: SignInResponse,
  { kind, next }: Pick<Submission, 'kind' | 'next'>,
): Promise<void> {
  await beginSession(ctx, parts, answer);
  if (kind === 'form') seeOther(ctx, safeNext(next, parts.publicOrigin));
  else sendData(ctx, 200, parts.messages.session(answer));
}

const SecondFactorRequired = defineError(
  'UNAUTHENTICATED',
  'second_factor_required',
  'The password is right. Send the challenge with a code of the second factor to POST /auth/second-factor.',
);

function toDetails({ challenge, methods, expiresAt }: SecondFactorChallenge) {
  return { challenge, methods, expires_at: expiresAt };
}
