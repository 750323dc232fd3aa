import type { Collection } from '@commonplace/kit/store';
import type { ArchiveRecord } from '../archives/records.js';
import type { Tokens } from '../domain/tokens.js';
import type { Media } from '../media/index.js';
import type { StorageParts } from '../storage/parts.js';

/** Holds what downloads depend on. */
export interface DownloadParts extends Pick<StorageParts, 'settings' | 'versions' | 'bytes'> {
  readonly tokens: Tokens;
  readonly media: Media;
  readonly archives: Collection<ArchiveRecord>;
}
