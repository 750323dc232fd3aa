import type { CallOptions } from '@commonplace/kit/rpc';
import { CredentialKind } from '@commonplace/proto/identity/v1/auth_service.js';
import type { Context } from 'koa';
import { type AuthParts, callOf } from '../auth/parts.js';

/** Returns options for a call on behalf of a session's person, as for an endpoint of the API. */
export async function callAs(ctx: Context, parts: AuthParts, session: string): Promise<CallOptions> {
  const call = callOf(ctx, parts);
  const { clientIp } = ctx.state;
  const credential = { kind: CredentialKind.SESSION, credential: session, tenant: '', workspaceId: '', clientIp };
  const { token } = await parts.auth.authenticate(credential, call);
  return { ...call, metadata: { ...call.metadata, token } };
}
