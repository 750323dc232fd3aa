import type { CallOptions, Client } from '@commonplace/kit/rpc';
import { type Collection, LostRace, type Store } from '@commonplace/kit/store';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { UserRecord } from './stores/users.js';

/** Sees to it that a person has their default Personal workspace. */
export interface Homes {
  /** Does nothing for a person who is known to have it. Whatever a crash left undone is done here. */
  ensure(user: UserRecord, options: CallOptions): Promise<void>;
}

export function createHomes(store: Store, users: Collection<UserRecord>, directory: Client<DirectoryService>): Homes {
  return {
    async ensure(user, options) {
      if (user.home) return;
      await directory.ensurePersonalWorkspace({ userId: user.id, userName: user.name, userEmail: user.email }, options);
      const work = store.begin();
      work.replace(users, user, { ...user, home: true });
      await work.commit().catch((error: unknown) => {
        if (!(error instanceof LostRace)) throw error;
      });
    },
  };
}
