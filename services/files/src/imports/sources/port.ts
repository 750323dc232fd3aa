import type { Readable } from 'node:stream';

/**
 * Describes a file of an archive, or the single file of an import. Paths are relative, normalized and safe, with `/`.
 */
export interface Entry {
  readonly path: string;
  /** Unpacked bytes, as the archive declares them; reading fails when the declaration is wrong. */
  readonly sizeBytes: number;
  /** Time of the last change, if the archive has it. */
  readonly modifiedAt?: string;
}

/**
 * Gives access to the files of a source, in any order and any number of times. Whoever opens it has enforced the limits
 * of size, ratio, count, depth, path and links; reading beyond a limit rejects with an `ImportFault`. Archives in the
 * archive that belong to it (`Part-1.zip`) are unpacked: their entries are listed here.
 */
export interface Bundle {
  /** Tenant of the import; file parsers share their time fairly between tenants. */
  readonly tenant?: string;
  readonly entries: readonly Entry[];
  entry(path: string): Entry | undefined;
  /** Streams the bytes of an entry. */
  open(path: string): Promise<Readable>;
  /** All bytes of an entry; rejects with an ImportFault above `limit`. */
  read(path: string, limit: number): Promise<Buffer>;
}

export type ItemKind = 'folder' | 'document' | 'table' | 'artifact' | 'file';

/**
 * Describes a thing in a source that becomes a resource. It must be small, because 50,000 of them are held in memory.
 */
export interface SourceItem {
  /** Unique within the source and the same on each reading, because retries and links refer to it. */
  readonly path: string;
  /** Path of the parent item; absent at the top level. Parents come before their children. */
  readonly parent?: string;
  readonly kind: ItemKind;
  readonly name: string;
  /** Id of the thing in the source itself. */
  readonly externalId?: string;
  /** For a file: the bundle's entry with its bytes; absent when the source unpacks them itself (`openFile`). */
  readonly entry?: string;
  /** For a file: `read` must be called too, because the source has metadata for it. */
  readonly described?: true;
  /** The item is created only if another item links to it, and is skipped otherwise. */
  readonly onlyIfLinked?: true;
  /** For a file without an entry: its size in bytes. */
  readonly sizeBytes?: number;
}

/** Holds the content of an item that was read. All fields are optional: a folder may have none. */
export interface ItemContent {
  /** Replaces the item's name. */
  readonly title?: string;
  readonly icon?: string;
  readonly description?: string;
  /** Front matter and other facts about the page, as JSON values. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly tags?: readonly string[];
  readonly createdAt?: string;
  readonly updatedAt?: string;
  /** E-mail address or name, which the user map resolves. */
  readonly author?: string;
  /** At most one of `markdown`, `html` and `json` is set. Links are as the source has them. */
  readonly markdown?: string;
  /** `[[page]]` in `markdown` is a link to the page or file of that name; `resolve` gets `[[page`. */
  readonly wikiLinks?: true;
  readonly html?: string;
  /** Document JSON, a table's `{columns, rows}` or an artifact's fields. */
  readonly json?: unknown;
  /** Warnings about content that could not be imported, for the report. */
  readonly warnings?: readonly string[];
}

/**
 * Target of a link: another item, to which the caller appends the fragment; nothing, although the link was meant for
 * something in the source; or something outside, so that the link stays as it is.
 */
export type LinkTarget = { readonly item: string } | { readonly broken: true } | { readonly outside: true };

/** Lists what a source contains, judged by names and as little content as possible. */
export interface Source {
  readonly items: readonly SourceItem[];
  /** Entries that are not imported, with the code and message of the reason. */
  readonly skipped: readonly { readonly path: string; readonly code: string; readonly message: string }[];
  /** Reads one item. An `ImportFault` concerns only this item. */
  read(item: SourceItem): Promise<ItemContent>;
  /** Streams the bytes of a file item that has no `entry`. Rejects with an ImportFault. */
  openFile?(item: SourceItem): Promise<Readable>;
  /** Returns why an item is not imported, if that is known before it is read. */
  unavailable?(item: SourceItem): { readonly code: string; readonly message: string } | undefined;
  /** Resolves the target of a link in an item's content, without its `#fragment`. */
  resolve(from: SourceItem, href: string): LinkTarget;
  /** Whether paths of items mean nothing to people, so that reports name items by their title. */
  readonly opaquePaths?: true;
  /** Notes for the report about content that users may expect and that the source does not contain. */
  readonly notes?: readonly string[];
}

export interface SourceOptions {
  readonly csv?: {
    readonly delimiter?: string;
    readonly encoding?: string;
    readonly hasHeader?: boolean;
    readonly detectTypes?: boolean;
  };
  /** Whether a document with several headings of level 1 is split into one document for each. */
  readonly splitHeadings?: boolean;
  /** Original name of a single file, which names the item when its content has no title. */
  readonly fileName?: string;
}

/** Opens a bundle as a source. Rejects with an `ImportFault` when it is not of the expected kind. */
export type OpenSource = (bundle: Bundle, options: SourceOptions) => Promise<Source>;

/** Reports an error that the source is responsible for; `code` is documented and stable. */
export class ImportFault extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly retryable = false,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ImportFault';
  }
}
