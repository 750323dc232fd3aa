import type { Log } from '@commonplace/kit/log';
import type { CallContext, CallOptions, Client } from '@commonplace/kit/rpc';
import { type Collection, LostRace, type Store } from '@commonplace/kit/store';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { UserRecord } from './stores/users.js';

/** Ensures that people have their default Personal workspace. */
export interface Homes {
  /**
   * Creates the workspace, unless the user's record says that it exists. It also repairs what a crash left undone.
   */
  ensure(user: UserRecord, options: CallOptions): Promise<void>;
  /**
   * Ensures it as well, but only logs failures, so that people can sign in while tenancy is down; the workspace is then
   * created when it is needed.
   */
  tryEnsure(user: UserRecord, context: CallContext): Promise<void>;
}

interface HomesParts {
  readonly store: Store;
  readonly users: Collection<UserRecord>;
  readonly directory: Client<DirectoryService>;
  readonly log: Log;
}

export function createHomes({ store, users, directory, log }: HomesParts): Homes {
  const homes: Homes = {
    async ensure(user, options) {
      if (user.home) return;
      await directory.ensurePersonalWorkspace({ userId: user.id, userName: user.name, userEmail: user.email }, options);
      const work = store.begin();
      work.replace(users, user, { ...user, home: true });
      await work.commit().catch((error: unknown) => {
        if (!(error instanceof LostRace)) throw error;
      });
    },
    async tryEnsure(user, { onward, requestId }) {
      await homes.ensure(user, onward).catch((error: unknown) => {
        log.warn('identity.home_missing', { request_id: requestId, user_id: user.id, error });
      });
    },
  };
  return homes;
}
