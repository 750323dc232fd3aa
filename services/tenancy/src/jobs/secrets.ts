import { type RewrapParts, type Rewrapped, rewrapEach, rewrapSealed } from '@commonplace/kit/secrets';
import { rewrapMails } from '@commonplace/platform/mail';
import { authorizationCollection, connectionCollection, connectorCollection } from '../stores/connectors.js';

const REWRAPS = [
  rewrapSealed(connectorCollection),
  rewrapSealed(connectionCollection),
  rewrapSealed(authorizationCollection),
  rewrapMails,
];

/**
 * Re-encrypts every secret with the current master key, so that older keys can be removed from the settings.
 * Records are committed one by one: an interrupted run keeps what it has done. Calls `each` after every record.
 */
export function rewrapSecrets(parts: RewrapParts, each?: () => void): Promise<Rewrapped> {
  return rewrapEach(REWRAPS, parts, each);
}
