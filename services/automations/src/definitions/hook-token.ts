import { createHash, randomBytes } from 'node:crypto';
import type { Envelope } from '@commonplace/kit/secrets';
import type { AutomationRecord } from './records.js';
import { hookTokenOwner } from './secrets.js';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const TOKEN_BYTES = 32;

/**
 * Returns the hash by which a token is looked up. The token has 256 random bits, so that a plain hash cannot be
 * reversed.
 */
export const hashHookToken = (token: string): string => createHash('sha256').update(token).digest('base64url');

/** Returns whether a text has the form of a token. */
export const isHookToken = (token: string): boolean => TOKEN.test(token);

/** Creates the token of a webhook's URL: its hash for lookups, and its encrypted form for showing the URL again. */
export function mintHookToken(
  envelope: Envelope,
  automation: Pick<AutomationRecord, 'id' | 'tenant'>,
): Pick<AutomationRecord, 'hookTokenHash' | 'hookTokenSealed'> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { hookTokenHash: hashHookToken(token), hookTokenSealed: envelope.seal(token, hookTokenOwner(automation)) };
}

/** Returns the URL that starts an automation; undefined if its trigger is not a webhook. */
export function webhookUrl(envelope: Envelope, publicUrl: string, automation: AutomationRecord): string | undefined {
  if (automation.hookTokenSealed === undefined) return undefined;
  const token = envelope.open(automation.hookTokenSealed, hookTokenOwner(automation));
  return `${publicUrl.replace(/\/$/, '')}/api/v1/hooks/automations/${token}`;
}
