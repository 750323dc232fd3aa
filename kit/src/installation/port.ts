/** Kinds of data beside the records of an installation, each in a store of its own. */
export const STORE_KINDS = ['files', 'index', 'events'] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

/**
 * A store that belongs to one installation and contains its id.
 *
 * Duties of an adapter:
 * - An unclaimed store has no id, and is empty until something is stored in it.
 * - The id does not count as content: a store that was only claimed is still empty.
 * - Of several concurrent claims one wins, and all of them return the winner's id.
 * - An id is replaced only by a claim with `replace`, and survives the process that wrote it.
 */
export interface IdentifiedStore {
  readonly kind: StoreKind;
  /** Name of the store for messages, without secrets: `the bucket https://host/bucket`. */
  readonly place: string;
  /** Returns the id of the installation that the store belongs to; undefined if it is unclaimed. */
  readId(): Promise<string | undefined>;
  /** Returns whether the store contains no data of an installation. */
  isEmpty(): Promise<boolean>;
  /** Writes an id durably. Returns the id that the store has from then on. */
  claim(id: string, replace?: boolean): Promise<string>;
  /** Distinguishes databases with the same id; absent if only one database can access the store. */
  readonly hold?: StoreHold;
  close(): Promise<void>;
}

/**
 * A small value in a store that identifies which of several databases with the same id uses it.
 *
 * Duties of an adapter:
 * - There is no value until one is written, and it does not count as content.
 * - Of several writes over the same value one takes effect, and the others return false.
 */
export interface StoreHold {
  read(): Promise<HeldToken | undefined>;
  /**
   * Replaces the token that was read by another one; `before` is undefined if there was none. Returns false if the
   * stored value has changed.
   */
  write(token: string, before: HeldToken | undefined): Promise<boolean>;
}

export interface HeldToken {
  readonly token: string;
  /** Identifies this value in the store. */
  readonly tag: string;
}

/** Origin of the records of an installation. */
type Origin =
  /** The records were empty at first. */
  | 'new'
  /** The records were written by a release without installation ids. */
  | 'upgrade'
  /** The records were restored from a backup, as a separate installation. */
  | 'restored';

/** Facts about an installation that its records contain. */
export interface Installation {
  readonly installationId: string;
  readonly origin: Origin;
  /** Kinds of stores that were claimed once: a store of one of these kinds without an id is a different store. */
  readonly bound: readonly StoreKind[];
  /** Fingerprints of the keys that encrypted records, by setting. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** The tokens that were last written to stores, to hold them against copies of these records; newest last. */
  readonly tokens?: Readonly<Partial<Record<StoreKind, readonly string[]>>>;
}

/** Access to the facts about an installation in its records. */
export interface InstallationRecords {
  /** Name of the records for messages: `the database /data/commonplace.db`. */
  readonly place: string;
  read(): Promise<Installation | undefined>;
  /** Returns whether no service has stored anything in the records. */
  isEmpty(): Promise<boolean>;
  /** Returns the id in other records of the same installation; undefined if there are none. */
  relatedId(): Promise<string | undefined>;
  /** Stores the facts about the installation unless some are stored already. Returns the stored facts. */
  insert(installation: Installation): Promise<Installation>;
  update(change: (before: Installation) => Installation): Promise<Installation>;
}
