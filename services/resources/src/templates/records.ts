import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** One node in the outline of a template's tree. */
export interface TreeLine {
  readonly type: string;
  readonly name: string;
  readonly icon?: string | undefined;
  readonly description?: string | undefined;
  readonly children: readonly TreeLine[];
}

/** A template for workspaces. Its nodes are stored in the tree as if in a workspace with the template's id. */
export interface Template extends StoredRecord {
  /** Id of the Org, or for a Personal template the template's own id. */
  readonly tenant: string;
  /** Id of the Org whose content it holds; null for a Personal template. */
  readonly orgId: string | null;
  /** Id of the workspace that it was made from; absent if it was made otherwise, or before this field existed. */
  readonly sourceWorkspaceId?: string | undefined;
  readonly scope: 'org' | 'personal';
  /** `org:<id>` or `user:<id>`: the list that the template is in. */
  readonly listKey: string;
  readonly name: string;
  readonly nameFold: string;
  readonly description?: string | undefined;
  readonly icon?: string | undefined;
  readonly category?: string | undefined;
  readonly resourceCount: number;
  readonly preview: readonly TreeLine[];
  readonly status: 'ready' | 'building' | 'failed';
  readonly createdBy: Actor;
  /** Id of the person who created it, also if an API key acted for them. */
  readonly createdById: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const templateCollection: CollectionSpec<Template> = {
  name: 'templates',
  indexes: [{ fields: ['listKey', 'nameFold'] }, { fields: ['tenant'] }],
};

/** Maximum number of templates of an Org or of a person. */
export const MAX_TEMPLATES_PER_LIST = 500;

/** Returns all templates of some lists, sorted by folded name. */
export function templatesOf(templates: Collection<Template>, listKeys: readonly string[]): Promise<Template[]> {
  return templates.find({
    where: { listKey: { in: listKeys } },
    sort: ['nameFold'],
    limit: listKeys.length * (MAX_TEMPLATES_PER_LIST + 100),
  });
}
