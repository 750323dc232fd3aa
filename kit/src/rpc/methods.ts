import { METHODS, type MethodFacts } from '@commonplace/proto/methods.js';

/** Wildcard for every process of the installation. */
const EVERYBODY = '*';

/**
 * Returns the contract's facts about a method, by its full path. Throws if the contract names no callers, so that a
 * service with such a method does not start.
 */
export function factsOf(path: string): MethodFacts {
  const facts = METHODS[path];
  if (facts === undefined || facts.callers.length === 0) {
    throw new Error(`${path} names no callers: set the option commonplace.api.v1.peers`);
  }
  return facts;
}

/** Returns whether a process may call a method that names these callers. */
export function mayCall({ callers }: Pick<MethodFacts, 'callers'>, peer: string): boolean {
  return callers.includes(peer) || callers.includes(EVERYBODY);
}
