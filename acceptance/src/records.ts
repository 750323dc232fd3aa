/** Types of API records with the fields that the suites use. This one describes a page of a list. */

export interface Page {
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
  readonly total_is_estimate: boolean;
  readonly has_more: boolean;
  readonly next_offset: number | null;
  readonly next_cursor: string | null;
}

export interface Fault {
  readonly param: string;
  readonly code: string;
  readonly message: string;
}

export interface ErrorBody {
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly details: Readonly<Record<string, unknown>> | readonly Fault[];
  readonly retryable: boolean;
  readonly doc_url: string;
}

interface Warning {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface Envelope<T> {
  readonly data?: T;
  readonly page?: Page;
  readonly warnings?: readonly Warning[];
  readonly error?: ErrorBody;
  readonly request_id: string;
}

export interface List<T> {
  readonly items: readonly T[];
}

type Id = string;

export interface User {
  readonly id: Id;
  readonly name: string;
  readonly email: string;
}

export interface Me {
  readonly user: User;
  readonly tenant: { readonly type: string; readonly org_id: Id | null; readonly role: string | null };
  readonly credential: {
    readonly type: string;
    readonly key_id: Id | null;
    readonly scopes: readonly string[];
    readonly workspace_ids: readonly Id[] | null;
    readonly expires_at: string | null;
  };
  readonly default_workspace_id: Id | null;
  readonly orgs: readonly { readonly id: Id; readonly name: string; readonly role: string }[];
}

export interface ApiKey {
  readonly workspace_ids: readonly string[] | null;
  readonly id: Id;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly status: string;
  readonly type: string;
  readonly org_id: Id | null;
  /** Present only in the answer that creates the record. */
  readonly key?: string;
}

export interface Org {
  readonly id: Id;
  readonly name: string;
  readonly slug: string;
  readonly status: string;
  readonly role: string;
  readonly version: number;
}

export interface Member {
  readonly id: Id;
  readonly user: User | null;
  readonly email: string;
  readonly role: string;
  readonly status: string;
  readonly last_active_at: string | null;
  readonly version: number;
  readonly invite_url?: string;
}

export interface WorkspaceMember {
  readonly id: Id | null;
  readonly principal: { readonly id: Id | null; readonly email: string | null };
  readonly role: string;
  readonly status: string;
  readonly source: string;
  readonly invite_url?: string;
}

export interface Workspace {
  readonly id: Id;
  readonly org_id: Id | null;
  readonly name: string;
  readonly state: string;
  readonly role: string | null;
  readonly version: number;
  readonly counts: { readonly resources: number; readonly members: number } | null;
}

interface PathItem {
  readonly id?: Id | null;
  readonly name?: string | null;
  readonly hidden?: boolean | null;
}

export interface Resource {
  readonly id: Id;
  readonly workspace_id: Id;
  readonly parent_id: Id | null;
  readonly type: string;
  readonly name: string;
  readonly path: readonly PathItem[] | null;
  readonly position: string;
  readonly state: string;
  readonly external_id: string | null;
  readonly access_mode: string;
  readonly has_children: boolean;
  readonly child_count: number;
  readonly is_attachment: boolean;
  readonly content_version: number;
  readonly updated_at: string;
  readonly version: number;
}

export interface Content {
  readonly resource_id: Id;
  readonly format: string;
  readonly version: number;
  readonly content: string;
  readonly changed?: boolean | null;
  readonly replaced_version?: number | null;
  readonly snapshot_id?: Id | null;
}

export interface TableContent extends Content {
  readonly columns: readonly { readonly id: string; readonly type: string; readonly is_primary: boolean }[];
  readonly rows: readonly TableRow[];
  readonly row_count: number;
  readonly primary_column_id: string;
}

interface TableRow {
  readonly id: string;
  readonly cells: Readonly<Record<string, unknown>>;
  readonly position: number;
  readonly created_at: string;
}

export interface Snapshot {
  readonly id: Id;
  readonly resource_id: Id;
  readonly name: string | null;
  readonly reason: string;
  readonly content_version: number;
  readonly size_bytes: number;
  readonly content_hash: string;
  readonly expires_at: string | null;
}

export interface SnapshotContent extends Snapshot {
  readonly content: string;
  readonly diff?: { readonly to: string; readonly added: number; readonly removed: number; readonly unified: string };
}

export interface TrashItem {
  readonly id: Id;
  readonly name: string;
  readonly descendant_count: number;
}

interface SearchItem {
  readonly resource: { readonly id: Id; readonly name: string; readonly workspace_id: Id };
  readonly score: number;
  readonly scores: { readonly keyword: number | null; readonly semantic: number | null };
  readonly highlights: readonly {
    readonly field: string;
    readonly snippet: string;
    readonly block_id: string | null;
    readonly row_id: string | null;
    readonly page: number | null;
  }[];
  readonly chunk: { readonly text: string; readonly block_id: string | null; readonly page: number | null } | null;
}

export interface SearchAnswer extends List<SearchItem> {
  readonly mode: string;
  readonly degraded: boolean;
}

export interface Pin {
  readonly id: Id;
  readonly item: { readonly type: string; readonly id: Id; readonly name: string };
  readonly position: number;
  readonly visibility: string;
}

export interface Connector {
  readonly id: Id;
  readonly type: string;
  readonly name: string;
  readonly auth_type: string;
  readonly status: string;
  readonly connection_count: number;
  readonly last_error: string | null;
  /** Present only in the answer that creates the record. */
  readonly authorize_url?: string;
}

export interface Connection {
  readonly id: Id;
  readonly connector_id: Id;
  readonly connector_type: string;
  readonly account_label: string | null;
  readonly scopes: readonly string[];
  readonly status: string;
}

interface Notification {
  readonly id: Id;
  readonly type: string;
  readonly title: string;
  readonly actor: { readonly id: Id; readonly name: string };
  readonly target: { readonly type: string; readonly id: Id; readonly url: string } | null;
  readonly is_read: boolean;
  readonly is_archived: boolean;
  readonly count: number;
}

export interface NotificationList extends List<Notification> {
  readonly unread_count: number;
}

export interface Tag {
  readonly id: Id;
  readonly workspace_id: Id;
  readonly name: string;
  readonly color: string | null;
  readonly description: string | null;
  readonly usage_count: number;
  readonly version: number;
}

export interface RemovedTag {
  readonly id: Id;
  readonly deleted: boolean;
  readonly detached_count: number;
}

export interface Comment {
  readonly id: Id;
  readonly resource_id: Id;
  readonly thread_id: Id;
  readonly parent_comment_id: Id | null;
  readonly body: string | null;
  readonly body_html: string | null;
  readonly anchor: { readonly quote: string; readonly state: string } | null;
  readonly status: string;
  readonly author: { readonly type: string; readonly id: Id; readonly name: string };
  readonly mentions: readonly Id[];
  readonly reactions: readonly { readonly emoji: string; readonly count: number; readonly me: boolean }[];
  readonly is_deleted: boolean;
  readonly version: number;
}

export interface Import {
  readonly id: string;
  readonly workspace_id: string;
  readonly source_type: string;
  readonly name: string;
  readonly status: string;
  readonly phase: string | null;
  readonly progress: {
    readonly phase: string | null;
    readonly total: number;
    readonly processed: number;
    readonly succeeded: number;
    readonly failed: number;
    readonly skipped: number;
    readonly percent: number;
  };
  readonly stats: Readonly<
    Record<'documents' | 'tables' | 'rows' | 'files' | 'folders' | 'links_rewritten' | 'links_broken', number>
  >;
  readonly attempt: number;
  readonly root_resource_id: string | null;
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
  readonly items_url: string;
  readonly access: string;
  readonly report: string | null;
  readonly version: number;
  readonly upload?: { readonly method: string; readonly url: string; readonly headers: Record<string, string> };
  readonly items?: readonly ImportItem[];
}

export interface ImportItem {
  readonly path: string;
  readonly external_id: string | null;
  readonly status: string;
  readonly resource_id: string | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly retryable: boolean;
}
