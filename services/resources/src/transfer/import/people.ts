import type { Actor } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { ImportLabel } from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { TransferParts } from '../parts.js';
import { type ArchiveJson, textIn } from './archive-json.js';

/** An actor named in an archive, resolved to this installation. */
interface KnownActor {
  readonly actor: Actor;
  /** Whether it is a person of this tenant whom the importer may name. */
  readonly known: boolean;
}

export interface ImportPeople {
  /** Looks up all the given people at once, so that the functions below need no call for them. */
  load(given: readonly ArchiveJson[]): Promise<void>;
  /** Returns the actors that an archive names. An unknown person keeps their name, as an actor of type `import`. */
  actors(given: readonly ArchiveJson[]): Promise<KnownActor[]>;
  /** Returns the ids of people that an archive names, in order; undefined for unknown ones. */
  ids(given: readonly ArchiveJson[]): Promise<(string | undefined)[]>;
}

interface Person {
  readonly id: string;
  readonly name: string;
}

/** People that one request of the directory of accounts may name, and that have their memberships read at once. */
const LOOKED_UP_AT_ONCE = 200;
const MEMBERSHIPS_AT_ONCE = 20;
/** Maximum number of addresses that are looked up for one call; further people count as unknown. */
const MAX_PEOPLE = 20_000;

/** Creates a resolver that identifies people by address within the tenant of the workspace. */
export function createImportPeople(
  { peers }: Pick<TransferParts, 'peers'>,
  workspaceId: string,
  administers: boolean,
  label: ImportLabel | undefined,
  { caller, onward }: CallContext,
): ImportPeople {
  const known = new Map<string, Person | undefined>();
  let org: Promise<string> | undefined;
  const unknown = (name: string): Actor => ({ type: 'import', id: label?.id ?? '', name });

  async function load(given: readonly ArchiveJson[]): Promise<void> {
    const named = [...new Set(given.flatMap(({ email }) => keyOf(email) ?? []))].filter((email) => !known.has(email));
    const fresh = named.slice(0, MAX_PEOPLE - known.size);
    const breathe = createBreathe();
    for (let from = 0; from < fresh.length; from += LOOKED_UP_AT_ONCE) {
      await breathe();
      const emails = fresh.slice(from, from + LOOKED_UP_AT_ONCE);
      for (const email of emails) known.set(email, undefined);
      const { users } = await peers.users.findUsers({ ids: [], emails }, onward);
      for (let at = 0; at < users.length; at += MEMBERSHIPS_AT_ONCE) {
        await Promise.all(users.slice(at, at + MEMBERSHIPS_AT_ONCE).map(note));
      }
    }
  }

  /** Notes a person as known if they belong to the tenant of the workspace. */
  async function note({ id, name, email }: { id: string; name: string; email: string }): Promise<void> {
    org ??= peers.directory.lookUpWorkspace({ workspaceId }, onward).then(({ orgId }) => orgId);
    const { orgs, workspaces } = await peers.directory.getMemberships({ userId: id }, onward);
    const orgId = await org;
    const here =
      orgId === ''
        ? workspaces.some((one) => one.workspaceId === workspaceId)
        : orgs.some((one) => one.orgId === orgId);
    if (here) known.set(keyOf(email) ?? '', { id, name });
  }

  const personOf = ({ email }: ArchiveJson) => known.get(keyOf(email) ?? '');
  return {
    load,
    async actors(given) {
      await load(given);
      return given.map((one) => {
        const person = personOf(one);
        const named = person !== undefined && (administers || person.id === caller.userId);
        if (!named) return { actor: unknown((textIn(one.name) ?? '').slice(0, 255)), known: false };
        return { actor: { type: 'user', ...person }, known: true };
      });
    },
    async ids(given) {
      await load(given);
      return given.map((one) => personOf(one)?.id);
    },
  };
}

/** Returns an address in lower case for comparison; undefined if it is not an address. */
function keyOf(email: unknown): string | undefined {
  return typeof email === 'string' && email.includes('@') ? email.trim().toLowerCase() : undefined;
}
