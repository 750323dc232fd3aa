import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ResourceAccess, VisibleResources } from '@commonplace/platform/public-events';
import type { CheckReadersResponse, IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceRole } from '@commonplace/proto/resources/v1/resource.js';

interface Parts {
  readonly index: Pick<Client<IndexService>, 'checkReaders'>;
  systemCall(): CallOptions;
}

interface Waiting {
  readonly users: Map<string, { resolve(visible: VisibleResources): void; reject(error: unknown): void }[]>;
  readonly ids: readonly string[];
}

/** Maximum people and resources of one call. */
const MAX_PEOPLE = 500;
const MAX_RESOURCES = 200;

/**
 * Checks what people may see now. Streams that ask for the same resources in the same turn of the event loop share a
 * call: one event for a thousand readers takes two calls.
 */
export class ReaderChecks {
  private readonly waiting = new Map<string, Waiting>();

  constructor(private readonly parts: Parts) {}

  /** Returns the resources among `ids` that a person may see. */
  async visibleTo(userId: string, ids: readonly string[]): Promise<VisibleResources> {
    const found = new Map<string, ResourceAccess>();
    const unique = [...new Set(ids)].sort();
    for (let at = 0; at < unique.length; at += MAX_RESOURCES) {
      for (const [id, access] of await this.ask(userId, unique.slice(at, at + MAX_RESOURCES))) found.set(id, access);
    }
    return found;
  }

  private ask(userId: string, ids: readonly string[]): Promise<VisibleResources> {
    const key = ids.join();
    let waiting = this.waiting.get(key);
    if (waiting === undefined) {
      waiting = { users: new Map(), ids };
      this.waiting.set(key, waiting);
      setImmediate(() => {
        const due = this.waiting.get(key) as Waiting;
        this.waiting.delete(key);
        void this.send(due);
      });
    }
    const { users } = waiting;
    return new Promise((resolve, reject) => {
      const same = users.get(userId) ?? [];
      users.set(userId, same);
      same.push({ resolve, reject });
    });
  }

  private async send({ users, ids }: Waiting): Promise<void> {
    const all = [...users];
    for (let at = 0; at < all.length; at += MAX_PEOPLE) {
      const some = all.slice(at, at + MAX_PEOPLE);
      try {
        const request = { resourceIds: [...ids], userIds: some.map(([id]) => id), workspaceId: '' };
        const answer = await this.parts.index.checkReaders(request, this.parts.systemCall());
        for (const [i, [, asking]] of some.entries()) {
          const visible = visibleIn(answer, i);
          for (const one of asking) one.resolve(visible);
        }
      } catch (error) {
        for (const [, asking] of some) for (const one of asking) one.reject(error);
      }
    }
  }
}

function visibleIn({ resources, readers }: CheckReadersResponse, reader: number): VisibleResources {
  const found = new Map<string, ResourceAccess>();
  for (const [i, { id, workspaceId, trashed }] of resources.entries()) {
    const role = readers[reader]?.roles[i] ?? ResourceRole.UNSPECIFIED;
    if (role !== ResourceRole.UNSPECIFIED) found.set(id, { workspaceId, trashed, role });
  }
  return found;
}
