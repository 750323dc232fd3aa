import type { OwnIds } from '@commonplace/kit/installation';
import type { Log } from '@commonplace/kit/log';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { Collection, Collections, Store } from '@commonplace/kit/store';
import type { FileNodeService } from '@commonplace/proto/resources/v1/file_node_service.js';
import type { BlobStore } from '../blobs/port.js';
import type { Settings } from '../config.js';
import {
  blobCollection,
  fileCollection,
  intentCollection,
  textCollection,
  usageCollection,
  versionCollection,
} from './records.js';
import type { SweepRecord } from './sweep.js';

/** The collections of stored files. */
export const STORAGE_RECORDS = {
  files: fileCollection,
  versions: versionCollection,
  blobs: blobCollection,
  intents: intentCollection,
  texts: textCollection,
  usage: usageCollection,
};

/** Holds what stored files depend on. */
export interface StorageParts extends Collections<typeof STORAGE_RECORDS> {
  readonly settings: Settings;
  readonly store: Store;
  readonly bytes: BlobStore;
  /** Creates ids of bytes and uploads that the sweeper recognizes as this installation's own. */
  readonly ids: OwnIds;
  readonly nodes: Client<FileNodeService>;
  /** Id of this process, which its attempts record. */
  readonly process: string;
  readonly systemCall: (timeoutMs?: number) => CallOptions;
  readonly log: Log;
}

/**
 * Dependencies of the sweeper. It needs the installation's identity in order to delete only what this installation has
 * stored.
 */
export interface SweepParts extends StorageParts {
  readonly sweeps: Collection<SweepRecord>;
  readonly installationId: string;
  /** `holdsStores` of the `Host`. */
  readonly holdsStores: () => Promise<boolean>;
}
