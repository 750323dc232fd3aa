import type { Guard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import type { FileNodeService } from '@commonplace/proto/resources/v1/file_node_service.js';
import type { BlobStore } from './blobs/port.js';
import type { Settings } from './config.js';
import type { Tokens } from './domain/tokens.js';
import type { ImportRecord } from './imports/stores/records.js';
import type { Media } from './media/index.js';
import type { Blob, FileRecord, Intent, TextRecord, Upload, Usage, Version } from './stores/records.js';

/** What the handlers and jobs of this service stand on. */
export interface Parts {
  readonly settings: Settings;
  readonly store: Store;
  readonly files: Collection<FileRecord>;
  readonly versions: Collection<Version>;
  readonly blobs: Collection<Blob>;
  readonly uploads: Collection<Upload>;
  readonly intents: Collection<Intent>;
  readonly texts: Collection<TextRecord>;
  readonly usage: Collection<Usage>;
  readonly imports: Collection<ImportRecord>;
  readonly bytes: BlobStore;
  readonly tokens: Tokens;
  readonly media: Media;
  readonly nodes: Client<FileNodeService>;
  /** Calls URLs that users have given. */
  readonly guard: Guard;
  /** Names this process in what it does. */
  readonly process: string;
  readonly systemCall: (timeoutMs?: number) => CallOptions;
  readonly log: Log;
  /** Work that nobody waits for: it is tried again by the jobs when it fails. */
  readonly background: (what: string, work: () => Promise<unknown>) => void;
}
