import type { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';

/**
 * Who may see an event: everybody whom at least one of its parts admits. It contains no copy of access rights; they are
 * checked when the event is delivered.
 */
export interface Audience {
  /**
   * Whoever has a role on at least one of these resources. A resource in the trash counts only for those who may write
   * to it, unless `trashed` is set.
   */
  readonly resources?: {
    readonly ids: readonly string[];
    readonly least: 'viewer' | 'manager';
    readonly trashed?: boolean;
  };
  /** Members of the event's workspace with at least this role. */
  readonly workspace?: WorkspaceRole;
  /** Members of the event's Org with at least this role. */
  readonly org?: 'member' | 'admin';
  /** These people, as long as they belong to the event's tenant. */
  readonly people?: readonly string[];
  /** Active members of this conversation, who see messages from a number on. */
  readonly conversation?: { readonly id: string; readonly seq?: number };
}
