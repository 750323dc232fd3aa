/** Maximum number of automations and agents in a chain. A longer chain counts as a loop. */
const MAX_CHAIN = 5;

/** Returns whether starting an automation or an agent would make its chain a loop. */
export const isLoop = (chain: readonly string[], id: string): boolean =>
  chain.includes(id) || chain.length >= MAX_CHAIN;
