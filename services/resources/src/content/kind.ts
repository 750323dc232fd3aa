import type { Actor } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import type {
  Content,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import type { ContentDiff } from '@commonplace/proto/resources/v1/snapshot_service.js';
import type { TextPlace } from '../documents/index.js';
import type { Node } from '../stores/nodes.js';

/** What a request brings as content; a creation brings its own in the same fields. */
export type ContentInput = Omit<ReplaceContentRequest, 'resourceId' | 'snapshotId'> & {
  /** What an archive says of the rows of a table, in their order. No request says it. */
  readonly rowFacts?: readonly RowFacts[] | undefined;
};

/** Who made and changed a row, and when (epoch milliseconds). */
export interface RowFacts {
  readonly createdAt?: number | undefined;
  readonly createdBy?: Actor | undefined;
  readonly updatedAt?: number | undefined;
  readonly updatedBy?: Actor | undefined;
  /** Of its auto_number columns, by their ids. */
  readonly numbers?: Readonly<Record<string, number>> | undefined;
}

/** The fields of an answer that a kind of content fills. */
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

/** Which part of a content is asked for, and in which form. */
export type ContentQuery = Pick<GetContentRequest, 'format' | 'page' | 'filter' | 'sort' | 'columns' | 'cellFormat'>;

export interface Warning {
  readonly code: string;
  readonly message: string;
}

/** What a write has done. */
export interface Written {
  /** False where the content stayed as it was: nothing was written then. */
  readonly changed: boolean;
  /** Bytes of the content now. */
  readonly sizeBytes: number;
  readonly warnings: readonly Warning[];
}

/** A write that was parsed and checked against what is there, and not done yet. */
export interface PreparedWrite extends Written {
  /** Whether something goes that cannot be had back from the new content, such as rows of a table. */
  readonly loses: boolean;
  /** Puts the new content into this call's work. Where there is nothing to wait for, it need not be a promise. */
  apply(): Promise<void> | void;
  /**
   * The new content as a read would answer it once this call is committed; `read` is asked where a kind
   * has no such method, and has to see what this call has written then.
   */
  answer?(query: ContentQuery): Promise<Payload>;
}

/** A state of a content that is kept under a snapshot's id. */
export interface Kept {
  readonly sizeBytes: number;
  /** Equal for equal contents of one kind. */
  readonly hash: string;
}

/** Of a content as it is now, or as a snapshot keeps it. */
export type State = 'current' | { readonly snapshotId: string };

/** What lies between two states of one content: of text a unified diff, of a table columns and rows. */
export type Diff = Pick<ContentDiff, 'added' | 'removed' | 'changed' | 'unified' | 'columns' | 'rows' | 'truncated'>;

/** The new id of a resource that is copied as well; undefined for every other. */
export type Renaming = (id: string) => string | undefined;

/** How a node is told to a kind: it may not be stored yet. */
export type Holder = Omit<Node, 'version'>;

/**
 * One kind of content: what the nodes of one type hold. Its records are its own; node, versions,
 * access, snapshots' records and events belong to the caller.
 *
 * Writes go through `context.work` alone, and refuse bad input with the documented error before
 * anything is written.
 */
export interface ContentKind {
  /** Prepares the content of a new node; the kind's empty content where the request brings none. */
  create(holder: Holder, input: ContentInput, context: CallContext): Promise<PreparedWrite> | PreparedWrite;
  /**
   * Prepares the content of a new node out of an archive: what it refers to may be there later. `create` is asked
   * where a kind has no such method.
   */
  restoreInput?(holder: Holder, input: ContentInput, context: CallContext): Promise<PreparedWrite>;
  /**
   * Reads what a node holds, now or as it was kept, for a reader without an account: `mayRead` tells which other
   * resources they may read. `read` or `readKept` is asked where a kind has no such method.
   */
  readPublished?(
    of: { readonly node: Pick<Node, 'id'>; readonly keptId?: string },
    query: ContentQuery,
    mayRead: (id: string) => boolean,
    context: CallContext,
  ): Promise<Payload>;
  /** Reads what a node holds now. */
  read(node: Node, query: ContentQuery, context: CallContext): Promise<Payload>;
  /** Prepares a write in any of the kind's modes. */
  write(node: Node, input: ContentInput, context: CallContext): Promise<PreparedWrite>;
  /** Keeps the present content under a snapshot's id. */
  keep(node: Node, snapshotId: string, context: CallContext): Promise<Kept>;
  /** Keeps what an input brings under a snapshot's id, as if it had been the content. A kind without it keeps none such. */
  keepInput?(node: Node, snapshotId: string, input: ContentInput, context: CallContext): Promise<Kept>;
  /** Reads what is kept under a snapshot's id. */
  readKept(node: Node, snapshotId: string, query: ContentQuery, context: CallContext): Promise<Payload>;
  /** Prepares putting back what is kept under a snapshot's id. */
  restore(node: Node, snapshotId: string, context: CallContext): Promise<PreparedWrite>;
  /** Forgets what is kept under a snapshot's id. */
  forget(node: Pick<Node, 'id'>, snapshotId: string, context: Pick<CallContext, 'work'>): Promise<void>;
  /** What differs from one state to the other. A kind without it is compared line by line, as it reads. */
  diff?(node: Node, from: State, to: State, context: CallContext): Promise<Diff>;
  /** Prepares the content of a copy. What it refers to and is `renamed`, it refers to by the new id where that is plain. */
  copy(from: Node, to: Holder, context: CallContext, renamed?: Renaming): Promise<PreparedWrite>;
  /** Prepares what a copy without content begins with. Where a kind has no such method, that is nothing. */
  copyForm?(from: Node, to: Holder, context: CallContext, renamed?: Renaming): Promise<PreparedWrite>;
  /** Takes everything away that is held for a purged node, what is kept for its snapshots apart. */
  remove(node: Pick<Node, 'id'>, context: Pick<CallContext, 'work'>): Promise<void>;
  /** The text that search reads, and bookmarks in it: empty where there is none. */
  text(node: Node): Promise<string>;
  /** The same of many nodes at once, by their ids; those without text may be left out. */
  texts?(nodes: readonly Node[]): Promise<ReadonlyMap<string, string>>;
  /** Which parts of contents places in these texts lie in, by node and in the order given. A kind without it has no parts. */
  locate?(places: PlacesByNode): Promise<ReadonlyMap<string, readonly (Part | undefined)[]>>;
}

export type PlacesByNode = ReadonlyMap<string, readonly TextPlace[]>;

/** A part of a content that has an id of its own. */
export interface Part {
  readonly blockId?: string;
  readonly rowId?: string;
  /** Counted from 1. */
  readonly page?: number;
}
