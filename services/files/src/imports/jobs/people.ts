import { isUuid } from '@commonplace/kit/id';
import type { ImportParts } from '../parts.js';
import type { ImportRecord } from '../stores/records.js';

interface Person {
  readonly id: string;
  readonly name: string;
}

/** Resolves the names and addresses in a source to members of the workspace, by the importer's user map. */
export async function mappedUsers(
  parts: ImportParts,
  { options, workspaceId }: ImportRecord,
): Promise<ReadonlyMap<string, Person>> {
  const wanted = Object.entries(options.userMap ?? {});
  if (wanted.length === 0) return new Map();
  const values = wanted.map(([, value]) => value);
  const question = { ids: values.filter(isUuid), emails: values.filter((value) => value.includes('@')) };
  const { users } = await parts.auth.findUsers(question, parts.systemCall());
  const known = new Map<string, Person>();
  for (const { id, name, email } of users) {
    const { workspaces } = await parts.memberships.of(id, parts.systemCall());
    if (!workspaces.has(workspaceId)) continue;
    known.set(id, { id, name });
    known.set(email.toLowerCase(), { id, name });
  }
  return new Map(
    wanted.flatMap(([from, to]) => {
      const person = known.get(to.toLowerCase());
      return person === undefined ? [] : [[from.toLowerCase(), person] as const];
    }),
  );
}
