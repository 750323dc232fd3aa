import type { Readable } from 'node:stream';

/** A file of an archive, or the one file of an import. Paths are relative, with `/`, normalised and safe. */
export interface Entry {
  readonly path: string;
  /** Bytes as unpacked, as far as the archive says so truly: reading ends with an error where it does not. */
  readonly sizeBytes: number;
  /** When it was last changed, where the archive knows. */
  readonly modifiedAt?: string;
}

/**
 * The files that a source is made of, read in any order and as often as wanted. Whoever opens it has applied
 * the limits of size, ratio, count, depth, path and links; reading past a limit rejects with an ImportFault.
 * Archives within the archive that belong to it (`Part-1.zip`) are looked through: their entries stand here.
 */
export interface Bundle {
  readonly entries: readonly Entry[];
  /** The entry of a path. */
  entry(path: string): Entry | undefined;
  /** Streams the bytes of an entry. */
  open(path: string): Promise<Readable>;
  /** All bytes of an entry; rejects with an ImportFault above `limit`. */
  read(path: string, limit: number): Promise<Buffer>;
}

export type ItemKind = 'folder' | 'document' | 'table' | 'artifact' | 'file';

/** One thing that a source holds and that becomes a resource. Small: 50,000 of them are held at once. */
export interface SourceItem {
  /** Unique within the source and the same at each reading of it: what retries and links go by. */
  readonly path: string;
  /** The item that it lies below; at the top where absent. Parents come before their children. */
  readonly parent?: string;
  readonly kind: ItemKind;
  readonly name: string;
  /** The id that the source itself has for it. */
  readonly externalId?: string;
  /** Of a file: the bundle's entry that holds its bytes; absent where the source unpacks them itself (`openFile`). */
  readonly entry?: string;
  /** Of a file: it is to be read as well, for the source knows more of it than its bytes. */
  readonly described?: true;
  /** It becomes a resource only where another item links to it, and is skipped otherwise. */
  readonly onlyIfLinked?: true;
  /** Of a file without an entry: how many bytes it has. */
  readonly sizeBytes?: number;
}

/** What an item turns out to be once it was read. All is optional: a folder may have nothing of it. */
export interface ItemContent {
  /** Takes the place of the item's name. */
  readonly title?: string;
  readonly icon?: string;
  readonly description?: string;
  /** Front matter and what the source says of the page, as JSON values. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly tags?: readonly string[];
  readonly createdAt?: string;
  readonly updatedAt?: string;
  /** An e-mail address or a name, for the user map. */
  readonly author?: string;
  /** One of these. Links in them are as the source has them. */
  readonly markdown?: string;
  readonly html?: string;
  /** Document JSON, a table's `{columns, rows}` or an artifact's fields. */
  readonly json?: unknown;
  /** What could not be brought over, for the report. */
  readonly warnings?: readonly string[];
}

/**
 * Where a link of an item leads: another item, with the part behind `#` kept by the engine; or nowhere though it
 * was meant for something within the source; or outside, and stays as it is.
 */
export type LinkTarget = { readonly item: string } | { readonly broken: true } | { readonly outside: true };

/** What a source holds, found by looking at names and as little content as possible. */
export interface Source {
  readonly items: readonly SourceItem[];
  /** Entries that become nothing, and why, by code and words. */
  readonly skipped: readonly { readonly path: string; readonly code: string; readonly message: string }[];
  /** Reads one item; a fault of one item rejects with an ImportFault and concerns no other. */
  read(item: SourceItem): Promise<ItemContent>;
  /** Streams the bytes of a file item that has no `entry`. Rejects with an ImportFault. */
  openFile?(item: SourceItem): Promise<Readable>;
  /** Why an item becomes nothing, where that is known before it is read. */
  unavailable?(item: SourceItem): { readonly code: string; readonly message: string } | undefined;
  /** Resolves a link's target, without its `#fragment`, as it stands in an item's content. */
  resolve(from: SourceItem, href: string): LinkTarget;
  /** What the source does not contain and a user may expect, for the report. */
  readonly notes?: readonly string[];
}

export interface SourceOptions {
  readonly csv?: {
    readonly delimiter?: string;
    readonly encoding?: string;
    readonly hasHeader?: boolean;
    readonly detectTypes?: boolean;
  };
  /** A document with several headings of the first level becomes one document for each. */
  readonly splitHeadings?: boolean;
  /** What the one file of an import was called, for its name where its content has none. */
  readonly fileName?: string;
}

/** Looks through a bundle. Rejects with an ImportFault where it is not what it is said to be. */
export type OpenSource = (bundle: Bundle, options: SourceOptions) => Promise<Source>;

/** Something an import meets that is the source's fault; `code` is documented and stable. */
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
