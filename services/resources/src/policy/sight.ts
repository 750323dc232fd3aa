import { NotFound } from '@commonplace/kit/errors';
import type { BreakGlass } from '../break-glass.js';
import { may } from '../domain/role.js';
import { ResourceInTrash } from '../errors.js';
import type { Tree } from '../nodes/tree.js';
import type { AccessResolver } from './access.js';
import { memberOf, visitor } from './admission.js';
import type { AccessSubject, Policy, Seen } from './port.js';
import { notFound, requireReach } from './requirements.js';

interface SightParts {
  readonly tree: Tree;
  readonly access: AccessResolver;
  readonly breakGlass: Pick<BreakGlass, 'note'>;
}

type Sight = Pick<Policy, 'see' | 'seeEvenTrashed' | 'opens' | 'opensAll'>;

/** Returns the nodes that callers can see, and notes those that they open by their workspace role alone. */
export function createSight({ tree, access: { accessBeyondReach }, breakGlass }: SightParts): Sight {
  async function seeEvenTrashed(id: string, subject: AccessSubject): Promise<Seen> {
    const node = await tree.get(id);
    if (node === undefined) throw await notFound(subject);
    let access = await accessBeyondReach(node, subject);
    if (access === undefined) {
      await subject.refresh();
      access = await accessBeyondReach(node, subject);
    }
    if (access === undefined) throw NotFound();
    requireReach(subject.caller, node);
    opens({ node, access }, subject);
    const membership = (await memberOf(node.workspaceId, subject)) ?? (await visitor(node.workspaceId, subject));
    return { node, access, membership };
  }

  function opens({ node, access }: Pick<Seen, 'node' | 'access'>, subject: AccessSubject): void {
    if (access.breakGlass) breakGlass.note([node], subject);
  }

  return {
    seeEvenTrashed,
    opens,
    opensAll(seen, subject) {
      const opened = seen.filter(({ access }) => access.breakGlass);
      if (opened.length === 0) return;
      breakGlass.note(
        opened.map(({ node: { boundary, workspaceId, tenant } }) => ({ id: boundary, workspaceId, tenant, boundary })),
        subject,
      );
    },
    async see(id, subject) {
      const seen = await seeEvenTrashed(id, subject);
      if (seen.node.state === 'trashed') throw may(seen.access.role, 'write') ? ResourceInTrash() : NotFound();
      return seen;
    },
  };
}
