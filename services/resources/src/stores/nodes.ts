import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type NodeType = 'document' | 'table' | 'artifact' | 'folder' | 'file';

/** Where a node stands; the same for every node is told by its parent's. */
export interface Place {
  /** Whose it is: the Org's id, or the Personal workspace's. */
  readonly tenant: string;
  /** Null for a Personal workspace. */
  readonly orgId: string | null;
  readonly workspaceId: string;
  /** From the root's child down to the parent. */
  readonly ancestors: readonly string[];
  /** The nearest ancestor-or-self that is restricted, else the workspace. */
  readonly boundary: string;
}

/** A node of the tree, without its content. */
export interface Node extends StoredRecord, Place {
  readonly tenant: string;
  /** The parent's id, or the workspace's at the root. */
  readonly parentKey: string;
  readonly type: NodeType;
  readonly name: string;
  /** The name folded by width and case, which sorting and filtering use. */
  readonly nameFold: string;
  readonly icon?: string;
  readonly description?: string;
  /**
   * Set on what is no folder with its first child, and never taken back: without it there is nothing
   * below to look for.
   */
  readonly parented?: true;
  /** A file that stands below a document belongs to its text, and is left out where the tree is listed. */
  readonly attachment?: true;
  /** It is published, or was and may be again. */
  readonly published?: true;
  /** It stands in a template, and is found by nobody but who uses that. */
  readonly template?: true;
  /** Order key among siblings. */
  readonly position: string;
  readonly restricted: boolean;
  readonly locked: boolean;
  readonly state: 'active' | 'trashed';
  readonly trash?: Trashed;
  readonly trashedAt?: string;
  /** What was trashed together comes back together. */
  readonly batchId?: string;
  /** Whether it is the head of its batch: what was deleted by itself. */
  readonly trashHead?: boolean;
  readonly purgeAt?: string;
  readonly externalId?: string;
  /** `<workspace>:<external id>`: unique while the node lives. */
  readonly externalKey?: string;
  /** JSON text of an object. */
  readonly metadata?: string;
  /** Ids as they were given; `Tags` tells what they stand for. */
  readonly tags: readonly string[];
  /** `user:<id>` and the like of everybody granted this node directly. */
  readonly principals: readonly string[];
  readonly contentVersion: number;
  /** The last write of the content; absent as long as it is what the creation brought. */
  readonly written?: Written;
  readonly sizeBytes: number;
  /** Of a file: what its bytes are. */
  readonly file?: FileState;
  /** Of a table that has a form. */
  readonly form?: { readonly isActive: boolean };
  /** Where it comes from, when that is known. */
  readonly sourceUrl?: string;
  /** The import that has brought it. */
  readonly importId?: string;
  readonly createdBy: Actor;
  readonly createdById: string;
  readonly updatedBy: Actor;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface Written {
  readonly at: string;
  readonly by: Actor;
  /** Id of the credential. */
  readonly credential: string;
}

/** What the files service has told of a file. */
export interface FileState {
  readonly contentType: string;
  readonly sizeBytes: number;
  /** `pending_upload`, `processing`, `ready`, `failed` or `expired`. */
  readonly status: string;
  /** Names the attempt or version that this tells of. */
  readonly revision: string;
}

export interface Trashed {
  readonly by: Actor;
  /** How many stood below the head when it was deleted. */
  readonly descendants: number;
}

export const nodeCollection: CollectionSpec<Node> = {
  name: 'nodes',
  indexes: [
    { fields: ['workspaceId', 'state', 'position'] },
    { fields: ['workspaceId', 'state', 'nameFold'] },
    { fields: ['workspaceId', 'state', 'createdAt'] },
    { fields: ['workspaceId', 'state', 'updatedAt'] },
    { fields: ['workspaceId', 'state', 'type'] },
    { fields: ['workspaceId', 'state', 'trashedAt'], sparse: true },
    { fields: ['workspaceId', 'trashHead', 'trashedAt'], sparse: true },
    { fields: ['parentKey', 'state', 'position'] },
    { fields: ['batchId'], sparse: true },
    { fields: ['state', 'purgeAt'], sparse: true },
    { fields: ['ancestors'], many: true },
    { fields: ['tags'], many: true },
    { fields: ['externalKey'], unique: true },
  ],
};

/** Folded for comparing names: compatibility forms and case do not count. */
export function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}

/** Whether anything can stand below a node: a document or a table without children is no parent yet. */
export function mayHaveChildren(node: Pick<Node, 'type' | 'parented'>): boolean {
  return node.type === 'folder' || node.parented === true;
}

/** Whether what is put below a parent is an attachment of it. */
export function isAttachment(type: NodeType, parent: { readonly type?: NodeType }): boolean {
  return type === 'file' && parent.type === 'document';
}

/** The parent's id, or undefined at the root. */
export function parentId(node: Node): string | undefined {
  return node.parentKey === node.workspaceId ? undefined : node.parentKey;
}
