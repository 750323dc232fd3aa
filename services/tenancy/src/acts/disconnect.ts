import type { CallContext } from '@commonplace/kit/rpc';
import { SecretUnreadable } from '@commonplace/kit/secrets';
import { REVOCATIONS_MS } from '../config.js';
import { publishConnection } from '../events.js';
import type { Parts } from '../parts.js';
import type { Connection } from '../stores/connectors.js';
import { revokeGrant, type Tokens } from '../upstream/oauth.js';
import { clientFor } from '../upstream/oauth-clients.js';

/** Number of grants that are revoked in parallel. */
const CONCURRENCY = 10;

/**
 * Deletes connections and revokes their grants. Returns the number of revocations that the external system
 * confirmed. A system that does not respond within `timeoutMs` to all of them does not block the deletion.
 */
export async function disconnect(
  parts: Parts,
  context: Pick<CallContext, 'work' | 'event'>,
  connections: readonly Connection[],
  timeoutMs = REVOCATIONS_MS,
): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs);
  let revoked = 0;
  for (let from = 0; from < connections.length; from += CONCURRENCY) {
    const some = connections.slice(from, from + CONCURRENCY);
    const outcomes = await Promise.all(some.map((one) => revokeConnection(parts, one, signal)));
    revoked += outcomes.filter((done) => done).length;
  }
  for (const connection of connections) {
    context.work.remove(parts.connectors.connections, connection);
    publishConnection(context, 'deleted', connection);
  }
  return revoked;
}

/** Revokes the grant of a connection. Returns whether the external system confirmed it before `signal` aborts. */
export async function revokeConnection(
  parts: Parts,
  { id, tenant, type, sealed }: Connection,
  signal: AbortSignal,
): Promise<boolean> {
  const client = clientFor(parts.settings, type);
  if (client === undefined) return false;
  try {
    const tokens = JSON.parse(parts.envelope.open(sealed, { tenant, record: id })) as Tokens;
    return await revokeGrant(client, tokens, signal);
  } catch (error) {
    if (error instanceof SecretUnreadable) return false;
    throw error;
  }
}
