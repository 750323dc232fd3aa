import type { Actor } from '@commonplace/kit/auth';
import type { StoredRecord } from '@commonplace/kit/store';

/** A node is purged by deleting its record. */
export const NODE_STATES = ['active', 'trashed'] as const;

export type NodeType = 'document' | 'table' | 'artifact' | 'folder' | 'file';

/** The position of a node in the tree: its workspace, its ancestors and its boundary. */
export interface Place {
  /** Id of the tenant that owns the node: the Org, or the Personal workspace. */
  readonly tenant: string;
  /** Null in a Personal workspace. */
  readonly orgId: string | null;
  readonly workspaceId: string;
  /** Ids from the root's child down to the parent. */
  readonly ancestors: readonly string[];
  /** Id of the nearest restricted node, starting with the node itself; without one, the id of the workspace. */
  readonly boundary: string;
}

/** A node of the tree, without its content. */
export interface Node extends StoredRecord, Place {
  readonly tenant: string;
  /** Id of the parent; at the root, the id of the workspace. */
  readonly parentKey: string;
  readonly type: NodeType;
  readonly name: string;
  /** The name folded by width and case, for sorting and filtering. */
  readonly nameFold: string;
  readonly icon?: string;
  readonly description?: string;
  /**
   * Set on a node that is not a folder when it gets its first child, and never removed. Without it there are no
   * descendants to look for.
   */
  readonly parented?: true;
  /** The file is a child of a document and belongs to its text; listings of the tree leave it out. */
  readonly attachment?: true;
  /** The node has a publication record, whether or not readers can see it now. */
  readonly published?: true;
  /** The node belongs to a template; only a caller who uses the template can find it. */
  readonly template?: true;
  /** Sort key among siblings. */
  readonly position: string;
  readonly restricted: boolean;
  readonly locked: boolean;
  readonly state: (typeof NODE_STATES)[number];
  readonly trash?: TrashEntry;
  readonly trashedAt?: string;
  /** Id shared by the nodes that were trashed together, which are restored together. */
  readonly batchId?: string;
  /** Whether the node is the head of its batch, that is, the one that was deleted itself. */
  readonly trashHead?: boolean;
  readonly purgeAt?: string;
  readonly externalId?: string;
  /** `<workspace>:<external id>`; unique while the node is not in the trash. */
  readonly externalKey?: string;
  /** A JSON object as text. */
  readonly metadata?: string;
  /** Tag ids as they were assigned; `Tags` resolves merged and deleted ones. */
  readonly tags: readonly string[];
  /** Principals (`user:<id>` and the like) that have a direct grant on this node. */
  readonly principals: readonly string[];
  readonly contentVersion: number;
  /** The last write of the content; absent until the content changes after creation. */
  readonly written?: LastWrite;
  readonly sizeBytes: number;
  /** For a file: the state of its bytes. */
  readonly file?: FileState;
  /** For a table that has a form. */
  readonly form?: { readonly isActive: boolean };
  /** URL that the content was imported from, if known. */
  readonly sourceUrl?: string;
  /** Id of the import that created the node. */
  readonly importId?: string;
  /** Untrusted writers of the content. They stay recorded after later writes, because their text may remain. */
  readonly untrusted?: readonly UntrustedWriter[];
  readonly createdBy: Actor;
  /** The id in `createdBy`. */
  readonly createdById: string;
  /** The person for whom a key, an agent or an import created it; absent in records of earlier versions. */
  readonly createdForId?: string | undefined;
  readonly updatedBy: Actor;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/**
 * Kind of writer whose text must not be treated as instructions: a guest, or an agent that has read untrusted text. A
 * copied resource also records a form's respondents, the sender of a file, and an import.
 */
export type UntrustedWriter = 'guest' | 'agent' | 'form' | 'import' | 'file';

interface LastWrite {
  readonly at: string;
  readonly by: Actor;
  /** Id of the credential that wrote. */
  readonly credential: string;
}

/** State of a file's bytes, as the files service last reported it. */
export interface FileState {
  readonly contentType: string;
  readonly sizeBytes: number;
  /** `pending_upload`, `processing`, `ready`, `failed` or `expired`. */
  readonly status: string;
  /** Names the upload attempt or version that this state is about. */
  readonly revision: string;
}

interface TrashEntry {
  readonly by: Actor;
  /** Number of descendants that the head had when it was deleted. */
  readonly descendants: number;
}

/** Returns whether a node can have descendants: a document or a table without children is not a parent yet. */
export function mayHaveChildren(node: Pick<Node, 'type' | 'parented'>): boolean {
  return node.type === 'folder' || node.parented === true;
}

/** Returns whether a node of a type becomes an attachment below a parent. */
export function isAttachment(type: NodeType, parent: { readonly type?: NodeType }): boolean {
  return type === 'file' && parent.type === 'document';
}

/** Returns the parent's id, or undefined at the root. */
export function parentId(node: Node): string | undefined {
  return node.parentKey === node.workspaceId ? undefined : node.parentKey;
}
