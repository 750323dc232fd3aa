import type { MethodFacts } from '@commonplace/proto/methods.js';
import type { Caller } from '../auth/index.js';
import { AppError, InsufficientScope, Timeout, Unavailable } from '../errors/index.js';
import { mayCall } from './methods.js';
import type { IncomingCall } from './port.js';
import type { ServerParts } from './server-parts.js';

/**
 * Returns the name of the calling process. A token that proves none means that the processes of an installation differ in
 * the mesh key or in their clocks. No client has caused that.
 */
function provenPeer(call: IncomingCall, path: string, { peers, log }: ServerParts): string {
  try {
    return peers.verify(call.peerToken);
  } catch (cause) {
    log.warn('rpc.peer_unproven', { method: path, request_id: call.metadata.requestId });
    throw Unavailable({}, { retryAfter: 1, cause });
  }
}

/**
 * Verifies the calling process by its peer token and the caller by the caller token. Refuses a process that the method
 * does not name, and a call without a deadline.
 */
export function admit(
  call: IncomingCall,
  path: string,
  facts: MethodFacts,
  parts: ServerParts,
): Caller | undefined | Promise<Caller> {
  const peer = provenPeer(call, path, parts);
  // A service may call itself through its contract, so that the same checks apply to it as to any other caller.
  if (peer !== parts.service && !mayCall(facts, peer)) {
    parts.log.warn('rpc.peer_refused', { method: path, peer, request_id: call.metadata.requestId });
    throw new AppError('PERMISSION_DENIED', 'peer_not_allowed', `The process ${peer} may not call this method.`);
  }
  if (!Number.isFinite(call.deadline)) {
    throw new AppError('INVALID_ARGUMENT', 'deadline_missing', 'A call needs a deadline.');
  }
  if (call.deadline <= Date.now()) throw Timeout();
  if (call.metadata.token === undefined) return undefined;
  const caller = parts.verifyCaller(call.metadata.token);
  return caller instanceof Promise ? caller.then((known) => withScope(known, facts)) : withScope(caller, facts);
}

/**
 * Returns the caller. Throws `insufficient_scope` for an agent without a scope of the method: calls of agents do not
 * pass through the gateway, which checks the scopes of all other callers.
 */
function withScope(caller: Caller, { scopes }: MethodFacts): Caller {
  if (caller.agent === undefined || scopes.length === 0) return caller;
  const held = caller.credential.scopes;
  if (scopes.some((scope) => held.includes(scope))) return caller;
  const [scope] = scopes;
  throw InsufficientScope({ scope });
}
