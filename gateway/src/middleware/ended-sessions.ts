import { fingerprint } from '@commonplace/kit/id';
import { LRUCache } from 'lru-cache';

/** The sessions that were signed out here a moment ago. */
export interface EndedSessions {
  /** A session is over: whoever remembers it as good must not. */
  add(cookie: string): void;
  has(cookie: string): boolean;
}

/** Keeps them for longer than a credential that was good is remembered. */
export function createEndedSessions(): EndedSessions {
  const ended = new LRUCache<string, true>({ max: 20_000, ttl: 60_000 });
  return {
    add: (cookie) => {
      ended.set(fingerprint(cookie), true);
    },
    has: (cookie) => ended.size > 0 && ended.has(fingerprint(cookie)),
  };
}
