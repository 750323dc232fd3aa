import { LRUCache } from 'lru-cache';
import { maxEntries } from '../cache/index.js';
import { fingerprint } from '../id/index.js';

/** Sessions that were signed out in this process a moment ago. */
export interface EndedSessions {
  /** Marks a session as ended, so that no cache treats it as valid. */
  add(cookie: string): void;
  has(cookie: string): boolean;
}

/** Creates the list. It keeps sessions for longer than authenticated credentials are cached. */
export function createEndedSessions(): EndedSessions {
  const ended = new LRUCache<string, true>({ ...maxEntries(20_000), ttl: 60_000 });
  return {
    add: (cookie) => {
      ended.set(fingerprint(cookie), true);
    },
    has: (cookie) => ended.size > 0 && ended.has(fingerprint(cookie)),
  };
}
