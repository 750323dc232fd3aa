import { isUuid } from '@commonplace/kit/id';

/** Maximum number of automations and agents in a chain. A longer chain counts as a loop. */
const MAX_CHAIN = 5;

/** Returns whether starting an automation or an agent would make its chain a loop. */
export const isLoop = (chain: readonly string[], id: string): boolean =>
  chain.includes(id) || chain.length >= MAX_CHAIN;

/** The header by which a request of an automation to the webhook of another one carries its chain. */
export const CHAIN_HEADER = 'commonplace-chain';

/** Returns a chain as the value of its header. */
export const writeChain = (chain: readonly string[]): string => chain.join(',');

/**
 * Reads the chain in a webhook's header. Whoever calls a webhook can send any chain, which at the most skips their own
 * run.
 */
export function readChain(header: string | undefined): string[] {
  const ids = (header ?? '').split(',').map((id) => id.trim());
  return ids.filter(isUuid).slice(0, MAX_CHAIN);
}
