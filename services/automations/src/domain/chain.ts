/** Most automations and agents of one chain: what starts each other any further is a loop. */
const MAX_CHAIN = 5;

/** Returns whether an automation or an agent, which a chain of others has led to, may not be started by it. */
export const isLoop = (chain: readonly string[], id: string): boolean =>
  chain.includes(id) || chain.length >= MAX_CHAIN;
