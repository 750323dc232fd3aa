import type { CallContext } from '@commonplace/kit/rpc';
import { SecretUnreadable } from '@commonplace/kit/secrets';
import { publishConnection } from '../events.js';
import type { Parts } from '../parts.js';
import type { Connection } from '../stores/connectors.js';
import { revokeGrant } from '../upstream/oauth.js';
import { clientFor } from '../upstream/oauth-clients.js';

/** Number of grants that are revoked in parallel. */
const CONCURRENCY = 10;

/**
 * Deletes connections and revokes their grants. Returns the number of revocations that the external system
 * confirmed. A system that does not respond does not block the deletion.
 */
export async function disconnect(
  parts: Parts,
  context: Pick<CallContext, 'work' | 'event'>,
  connections: readonly Connection[],
): Promise<number> {
  let revoked = 0;
  for (let from = 0; from < connections.length; from += CONCURRENCY) {
    const outcomes = await Promise.all(connections.slice(from, from + CONCURRENCY).map((one) => revoke(parts, one)));
    revoked += outcomes.filter((done) => done).length;
  }
  for (const connection of connections) {
    context.work.remove(parts.connectors.connections, connection);
    publishConnection(context, 'deleted', connection);
  }
  return revoked;
}

async function revoke(parts: Parts, { id, tenant, type, sealed }: Connection): Promise<boolean> {
  const client = clientFor(parts.settings, type);
  if (client === undefined) return false;
  try {
    const tokens = JSON.parse(parts.envelope.open(sealed, { tenant, record: id })) as Readonly<Record<string, string>>;
    // Revoking a refresh token also revokes the access tokens issued from it (RFC 7009, 2.1).
    return await revokeGrant(client, tokens.refreshToken ?? tokens.accessToken ?? '');
  } catch (error) {
    if (error instanceof SecretUnreadable) return false;
    throw error;
  }
}
