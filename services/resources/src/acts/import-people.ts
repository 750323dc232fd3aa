import type { Actor } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import type { ImportLabel } from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { Parts } from '../parts.js';
import { type Given, textIn } from './import-archived.js';

/** Whom an archive names, as they are known here. */
export interface Known {
  readonly actor: Actor;
  /** It is a person of this tenant, whom the importer may name. */
  readonly known: boolean;
}

export interface ImportPeople {
  /** The actors that an archive names. Whom nobody knows here keeps their name, under the import's label. */
  actors(given: readonly Given[]): Promise<Known[]>;
  /** The ids of people that an archive names, in their order; undefined for whom nobody knows here. */
  ids(given: readonly Given[]): Promise<(string | undefined)[]>;
}

interface Person {
  readonly id: string;
  readonly name: string;
}

/** People are known by their address, within the tenant of the workspace. */
export function createImportPeople(
  { peers }: Parts,
  workspaceId: string,
  administers: boolean,
  label: ImportLabel | undefined,
  { caller, onward }: CallContext,
): ImportPeople {
  const known = new Map<string, Person | undefined>();
  const unknown = (name: string): Actor => ({ type: 'import', id: label?.id ?? '', name });

  async function load(given: readonly Given[]): Promise<void> {
    const emails = [...new Set(given.flatMap(({ email }) => keyOf(email) ?? []))].filter((email) => !known.has(email));
    if (emails.length === 0) return;
    for (const email of emails) known.set(email, undefined);
    const { users } = await peers.users.findUsers({ ids: [], emails }, onward);
    const { orgId } = await peers.directory.lookUpWorkspace({ workspaceId }, onward);
    await Promise.all(
      users.map(async ({ id, name, email }) => {
        const { orgs, workspaces } = await peers.directory.getMemberships({ userId: id }, onward);
        const here =
          orgId === ''
            ? workspaces.some((one) => one.workspaceId === workspaceId)
            : orgs.some((one) => one.orgId === orgId);
        if (here) known.set(keyOf(email) ?? '', { id, name });
      }),
    );
  }

  const personOf = ({ email }: Given) => known.get(keyOf(email) ?? '');
  return {
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

/** Addresses are compared without case. */
function keyOf(email: unknown): string | undefined {
  return typeof email === 'string' && email.includes('@') ? email.trim().toLowerCase() : undefined;
}
