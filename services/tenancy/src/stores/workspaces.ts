import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { DEFAULT_ROLES, type DefaultRole } from '../domain/roles.js';
import type { WorkspaceSettings } from '../domain/workspace-settings.js';
import { findAll, findOne } from './all.js';

export interface Workspace extends StoredRecord {
  /** The Org's id, or its own. */
  readonly tenant: string;
  /** Absent for a Personal workspace. */
  readonly orgId?: string;
  readonly name: string;
  /** The name folded by width and case, which sorting and filtering use. */
  readonly nameFold: string;
  readonly slug: string;
  /** `<org, or user:<creator>>:<slug>`: a slug is unique in its Org, or among the Personal ones of who made it. */
  readonly slugKey: string;
  readonly description?: string;
  readonly icon?: string;
  readonly state: 'active' | 'archived';
  /** What every member of the Org gets without being added. */
  readonly defaultRole?: DefaultRole;
  readonly settings: WorkspaceSettings;
  /** What it was made from, and how far that is copied. */
  readonly templateId?: string;
  readonly templateStatus?: 'running' | 'completed';
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly updatedBy: Actor;
  readonly updatedAt: string;
  readonly archivedAt?: string;
  /** It has been exported: files knows more. */
  readonly exported?: true;
}

export const workspaceCollection: CollectionSpec<Workspace> = {
  name: 'workspaces',
  indexes: [
    { fields: ['slugKey'], unique: true },
    { fields: ['orgId', 'createdAt'] },
    { fields: ['orgId', 'updatedAt'] },
    { fields: ['orgId', 'nameFold'] },
    { fields: ['orgId', 'defaultRole'] },
  ],
};

/** What a slug is unique in: an Org, or what one person has made for themselves. */
export function slugScope(orgId: string | null, creatorId: string): string {
  return orgId ?? `user:${creatorId}`;
}

export interface Workspaces {
  readonly records: Collection<Workspace>;
  isSlugTaken(scope: string, slug: string): Promise<boolean>;
  /** Those of some Orgs that every full member is in. */
  withDefaultRole(orgIds: readonly string[]): Promise<Workspace[]>;
  /** All of an Org, in the order of their creation. */
  ofOrg(orgId: string): Promise<Workspace[]>;
  /** Workspaces, by Org. */
  countByOrg(orgIds: readonly string[]): Promise<Map<string, number>>;
}

export function createWorkspaces(records: Collection<Workspace>): Workspaces {
  return {
    records,
    isSlugTaken: async (scope, slug) => (await findOne(records, { slugKey: `${scope}:${slug}` })) !== undefined,
    withDefaultRole: async (orgIds) =>
      orgIds.length === 0 ? [] : findAll(records, { orgId: { in: orgIds }, defaultRole: { in: DEFAULT_ROLES } }),
    ofOrg: (orgId) => findAll(records, { orgId }),
    countByOrg: (orgIds) => records.countBy('orgId', { orgId: { in: orgIds } }),
  };
}
