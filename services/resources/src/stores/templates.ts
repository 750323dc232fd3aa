import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** A line of a template's tree. */
export interface TreeLine {
  readonly type: string;
  readonly name: string;
  readonly icon?: string | undefined;
  readonly description?: string | undefined;
  readonly children: readonly TreeLine[];
}

/** What workspaces can begin with. Its nodes stand in the tree as in a workspace of its id. */
export interface Template extends StoredRecord {
  /** The Org's id, or its own. */
  readonly tenant: string;
  /** Whose content it holds; null for a Personal one. */
  readonly orgId: string | null;
  readonly scope: 'org' | 'personal';
  /** `org:<id>` or `user:<id>`: whose list it is in. */
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
  /** The person, also where a key has acted for them. */
  readonly createdById: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const templateCollection: CollectionSpec<Template> = {
  name: 'templates',
  indexes: [{ fields: ['listKey', 'nameFold'] }],
};

/** Templates of an Org, and of a person. */
export const TEMPLATES_PER_LIST = 500;

/** All templates of some lists. */
export function templatesOf(templates: Collection<Template>, listKeys: readonly string[]): Promise<Template[]> {
  return templates.find({
    where: { listKey: { in: listKeys } },
    sort: ['nameFold'],
    limit: listKeys.length * (TEMPLATES_PER_LIST + 100),
  });
}
