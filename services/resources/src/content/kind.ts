import type { Actor } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import type {
  Content,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { CellFormat, ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { ContentDiff } from '@commonplace/proto/resources/v1/snapshot_service.js';
import type { Node } from '../domain/node.js';
import type { RowChange } from '../domain/row-change.js';
import type { TextPlace } from '../domain/text-place.js';

/** The content of a write request; a creation request is converted to the same fields. */
export type ContentInput = Omit<ReplaceContentRequest, 'resourceId' | 'snapshotId'> & {
  /** Metadata of a table's rows from an archive, in row order. Requests never set it. */
  readonly rowFacts?: readonly RowFacts[] | undefined;
};

/** Who created and last changed a row, and when (epoch milliseconds). */
export interface RowFacts {
  readonly createdAt?: number | undefined;
  readonly createdBy?: Actor | undefined;
  readonly updatedAt?: number | undefined;
  readonly updatedBy?: Actor | undefined;
  /** Values of the row's auto_number columns, by column id. */
  readonly numbers?: Readonly<Record<string, number>> | undefined;
}

/** The fields of a response that a content kind fills in. */
export type Payload = Partial<
  Pick<
    Content,
    | 'format'
    | 'content'
    | 'wordCount'
    | 'columns'
    | 'rows'
    | 'rowCount'
    | 'primaryColumnId'
    | 'page'
    | 'artifactType'
    | 'language'
    | 'source'
    | 'title'
    | 'entry'
    | 'assets'
    | 'text'
    | 'textExtraction'
  >
>;

/** Selects which part of a content to return, and in which form. */
export type ContentQuery = Pick<GetContentRequest, 'format' | 'page' | 'filter' | 'sort' | 'columns' | 'cellFormat'> &
  Partial<Pick<GetContentRequest, 'rowIds'>>;

/** Selects a whole content in its kind's own format. */
export const WHOLE_CONTENT: ContentQuery = {
  format: ContentFormat.UNSPECIFIED,
  page: undefined,
  filter: '',
  sort: '',
  columns: [],
  cellFormat: CellFormat.UNSPECIFIED,
};

export interface Warning {
  readonly code: string;
  readonly message: string;
}

interface WriteResult {
  /** False if the write changed nothing, in which case nothing was stored. */
  readonly changed: boolean;
  /** Bytes of the content after the write. */
  readonly sizeBytes: number;
  readonly warnings: readonly Warning[];
}

/** A write that has been parsed and checked against the current content, but not applied. */
export interface PreparedWrite extends WriteResult {
  /** Whether the write loses something that cannot be recovered from the new content, such as rows of a table. */
  readonly loses: boolean;
  /** The rows of a table that the write addresses one by one and changes. */
  readonly rows?: readonly RowChange[];
  /** Adds the new content to the call's unit of work. Returns a promise only if it has to wait. */
  apply(): Promise<void> | void;
  /**
   * Returns the new content as a read after the commit would. If a kind lacks this method, `read` is called instead and
   * must see what this call has written.
   */
  answer?(query: ContentQuery): Promise<Payload>;
}

/** A write that changes nothing, because the request brings no content. */
export const NO_WRITE: PreparedWrite = { changed: false, sizeBytes: 0, warnings: [], loses: false, apply() {} };

/** A state of a content that is stored under a snapshot's id. */
export interface KeptContent {
  readonly sizeBytes: number;
  /** Equal for equal contents of one kind. */
  readonly hash: string;
}

/** Selects a state of a content: the current one, or the one that a snapshot keeps. */
export type State = 'current' | { readonly snapshotId: string };

/** The difference between two states of one content: a unified diff for text, columns and rows for a table. */
export type Diff = Pick<ContentDiff, 'added' | 'removed' | 'changed' | 'unified' | 'columns' | 'rows' | 'truncated'>;

/** Returns the new id of a resource that is copied too; undefined for any other id. */
export type Renaming = (id: string) => string | undefined;

/** A node as a kind receives it: it may not be stored yet. */
export type Holder = Omit<Node, 'version'>;

/**
 * One kind of content, for the nodes of one type. A kind owns its content records; the caller owns the node, versions,
 * access, snapshot records and events.
 *
 * Writes go through `context.work` alone, and refuse bad input with the documented error before
 * anything is written.
 */
export interface ContentKind {
  /** Prepares the content of a new node; the kind's empty content if the request brings none. */
  create(holder: Holder, input: ContentInput, context: CallContext): Promise<PreparedWrite> | PreparedWrite;
  /**
   * Prepares the content of a new node from an archive, where resources that it refers to may be created later. If a
   * kind lacks this method, `create` is called instead.
   */
  restoreInput?(holder: Holder, input: ContentInput, context: CallContext): Promise<PreparedWrite>;
  /**
   * Reads what a node holds now, or what is stored under `keptId`, for a reader without an account. `mayRead` returns
   * whether the reader may read another resource. If a kind lacks this method, `read` or `readKept` is called instead.
   */
  readPublished?(
    of: { readonly node: Pick<Node, 'id'>; readonly keptId?: string },
    query: ContentQuery,
    mayRead: (id: string) => boolean,
    context: CallContext,
  ): Promise<Payload>;
  /** Reads a node's current content. */
  read(node: Node, query: ContentQuery, context: CallContext): Promise<Payload>;
  /** Prepares a write in any of the kind's modes. */
  write(node: Node, input: ContentInput, context: CallContext): Promise<PreparedWrite>;
  /** Stores the current content under a snapshot's id. */
  keep(node: Node, snapshotId: string, context: CallContext): Promise<KeptContent>;
  /** Stores an input under a snapshot's id, as if it had been the content. A kind without this method stores none. */
  keepInput?(node: Node, snapshotId: string, input: ContentInput, context: CallContext): Promise<KeptContent>;
  /** Reads the content that is stored under a snapshot's id. */
  readKept(node: Node, snapshotId: string, query: ContentQuery, context: CallContext): Promise<Payload>;
  /** Prepares restoring the content that is stored under a snapshot's id. */
  restore(node: Node, snapshotId: string, context: CallContext): Promise<PreparedWrite>;
  /** Deletes the content that is stored under a snapshot's id. */
  forget(node: Pick<Node, 'id'>, snapshotId: string, context: Pick<CallContext, 'work'>): Promise<void>;
  /** Compares two states. A kind without this method is compared line by line, in the form that `read` returns. */
  diff?(node: Node, from: State, to: State, context: CallContext): Promise<Diff>;
  /**
   * Prepares the content of a copy. References to resources that are `renamed` get the new ids, as far as
   * the kind can identify them.
   */
  copy(from: Node, to: Holder, context: CallContext, renamed?: Renaming): Promise<PreparedWrite>;
  /**
   * Prepares the initial content of a copy that is made without content. If a kind lacks this method, there is none.
   */
  copyForm?(from: Node, to: Holder, context: CallContext, renamed?: Renaming): Promise<PreparedWrite>;
  /** Deletes everything that is stored for a purged node, except what is stored for its snapshots. */
  remove(node: Pick<Node, 'id'>, context: Pick<CallContext, 'work'>): Promise<void>;
  /** Returns the text that is searched and that bookmarks point into; empty if there is none. */
  text(node: Node): Promise<string>;
  /** Returns the texts of many nodes by node id; nodes without text may be missing. */
  texts?(nodes: readonly Node[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Returns which part of a content holds each of the given places in its text, by node and in the given order. A kind
   * without this method has no parts.
   */
  locate?(places: PlacesByNode): Promise<ReadonlyMap<string, readonly (Part | undefined)[]>>;
}

export type PlacesByNode = ReadonlyMap<string, readonly TextPlace[]>;

/** A part of a content that can be addressed by itself. */
export interface Part {
  readonly blockId?: string;
  readonly rowId?: string;
  /** Page number, counted from 1. */
  readonly page?: number;
}
