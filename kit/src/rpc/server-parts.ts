import type { PeerTokens, TokenVerifier } from '../auth/index.js';
import type { Log } from '../log/index.js';
import type { SpaceGuard } from '../space/index.js';
import type { Store } from '../store/port.js';
import type { CallContext } from './port.js';

/** What a server of the mesh needs to serve its methods. */
export interface ServerParts {
  readonly service: string;
  readonly store: Store;
  readonly verifyCaller: TokenVerifier;
  readonly peers: PeerTokens;
  readonly log: Log;
  /** Disk space of the store. Writes are refused when it runs out, except those of methods that free space. */
  readonly space?: SpaceGuard | undefined;
}

/** A handler of a unary method, whatever its messages. */
export type Unary = (request: unknown, context: CallContext) => Promise<unknown>;
