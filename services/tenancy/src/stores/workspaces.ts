import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { DEFAULT_ROLES, type DefaultRole } from '../domain/roles.js';
import type { WorkspaceSettings } from '../domain/workspace-settings.js';
import { findAllWhere, findOne } from './all.js';

export interface Workspace extends StoredRecord {
  /** The id of the Org, or of the workspace itself if it is Personal. */
  readonly tenant: string;
  /** Absent for a Personal workspace. */
  readonly orgId?: string;
  readonly name: string;
  /** The name folded by width and case, for sorting and filtering. */
  readonly nameFold: string;
  readonly slug: string;
  /** `<org, or user:<creator>>:<slug>`: a slug is unique in its Org, or among one creator's Personal workspaces. */
  readonly slugKey: string;
  readonly description?: string;
  readonly icon?: string;
  readonly state: 'active' | 'archived';
  /** The role that every full member of the Org gets without being added. */
  readonly defaultRole?: DefaultRole;
  readonly settings: WorkspaceSettings;
  /** The template that the workspace was created from, and the state of its copying. */
  readonly templateId?: string;
  readonly templateStatus?: 'running' | 'completed' | 'failed';
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly updatedBy: Actor;
  readonly updatedAt: string;
  readonly archivedAt?: string;
  /** Set once the workspace has been exported; the files service keeps the exports. */
  readonly exported?: true;
}

export const workspaceCollection: CollectionSpec<Workspace> = {
  name: 'workspaces',
  cachesQueries: true,
  indexes: [
    { fields: ['slugKey'], unique: true },
    { fields: ['orgId', 'state', 'createdAt'] },
    { fields: ['orgId', 'state', 'updatedAt'] },
    { fields: ['orgId', 'state', 'nameFold'] },
    { fields: ['orgId', 'defaultRole'] },
  ],
};

/** Returns the scope in which a slug is unique: an Org, or the Personal workspaces that one person has created. */
export function slugScope(orgId: string | null, creatorId: string): string {
  return orgId ?? `user:${creatorId}`;
}

export interface Workspaces {
  readonly records: Collection<Workspace>;
  isSlugTaken(scope: string, slug: string): Promise<boolean>;
  /** Returns the workspaces of the given Orgs that have a default role, and so include every full member. */
  withDefaultRole(orgIds: readonly string[]): Promise<Workspace[]>;
  /** Returns all workspaces of an Org, in the order of their creation. */
  ofOrg(orgId: string): Promise<Workspace[]>;
  /** Returns the number of workspaces by Org id. */
  countByOrg(orgIds: readonly string[]): Promise<Map<string, number>>;
}

export function createWorkspaces(records: Collection<Workspace>): Workspaces {
  return {
    records,
    isSlugTaken: async (scope, slug) => (await findOne(records, { slugKey: `${scope}:${slug}` })) !== undefined,
    withDefaultRole: async (orgIds) =>
      orgIds.length === 0 ? [] : findAllWhere(records, { orgId: { in: orgIds }, defaultRole: { in: DEFAULT_ROLES } }),
    ofOrg: (orgId) => findAllWhere(records, { orgId }),
    countByOrg: (orgIds) => records.countBy('orgId', { orgId: { in: orgIds } }),
  };
}
