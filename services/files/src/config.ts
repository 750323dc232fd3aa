import { defineSettings, integer, url, type Values } from '@commonplace/kit/config';
import { OUTGOING_SETTINGS } from '@commonplace/platform/settings';
import { parseS3Url } from './blobs/s3-url.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

function s3Url(value: string): string {
  const checked = url('http', 'https')(value);
  parseS3Url(checked);
  return checked;
}

export const config = defineSettings({
  ...OUTGOING_SETTINGS,
  s3Url: {
    common: 'bucket for files, not the data folder',
    help: 'bucket that keeps the bytes of files, instead of the data folder: https://host/bucket?region=…; credentials in the URL (key:secret@host), or in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    parse: s3Url,
    connects: true,
    fallback: undefined as string | undefined,
    secret: true,
  },
  s3PublicUrl: {
    help: 'URL of the same bucket for clients, if they reach it by another one',
    parse: s3Url,
    fallback: undefined as string | undefined,
    secret: true,
  },
  fileBytes: {
    common: 'maximum bytes of one file',
    help: 'maximum bytes of one file',
    parse: integer(1, 5 * 1024 * GIB),
    fallback: 5 * GIB,
  },
  inlineBytes: {
    variable: 'COMMONPLACE_INLINE_FILE_BYTES',
    help: 'maximum bytes of a file that is contained in the request itself; never more than COMMONPLACE_FILE_BYTES',
    parse: integer(1, 48 * MIB),
    fallback: 5 * MIB,
  },
  singleBytes: {
    variable: 'COMMONPLACE_SINGLE_UPLOAD_BYTES',
    help: 'maximum bytes of an upload in one request; larger ones are sent in parts',
    parse: integer(1, 5 * GIB),
    fallback: 100 * MIB,
  },
  partBytes: {
    variable: 'COMMONPLACE_UPLOAD_PART_BYTES',
    help: 'bytes of a part of an upload; a bucket requires at least 5 MiB',
    parse: integer(64 * 1024, 5 * GIB),
    fallback: 16 * MIB,
  },
  quotaBytes: {
    variable: 'COMMONPLACE_STORAGE_QUOTA_BYTES',
    common: 'maximum bytes of files of one Org',
    help: 'maximum bytes of the files of one Org or Personal workspace, including older versions and trash',
    parse: integer(0, Number.MAX_SAFE_INTEGER),
    fallback: undefined as number | undefined,
  },
  temporaryBytes: {
    variable: 'COMMONPLACE_TEMPORARY_STORAGE_BYTES',
    help: 'maximum bytes of the import sources and exports of one Org or Personal workspace, in addition to its storage quota; by default as many as the quota',
    parse: integer(0, Number.MAX_SAFE_INTEGER),
    fallback: undefined as number | undefined,
  },
  sweepGraceDays: {
    help: 'days that stored bytes without a record are kept before they are moved into the trash of the store',
    parse: integer(0, 3650),
    fallback: 7,
  },
  sweepTrashDays: {
    help: 'days that such bytes can be restored from the trash of the store before they are deleted',
    parse: integer(0, 3650),
    fallback: 30,
  },
  sweepPercent: {
    help: 'maximum percentage of stored objects without a record that is moved to the trash without an operator (commonplace sweeper)',
    parse: integer(0, 100),
    fallback: 5,
  },
  sweepObjects: {
    help: 'stored objects without a record that are moved to the trash regardless of their percentage',
    parse: integer(0, 1_000_000),
    fallback: 20,
  },
  versions: {
    variable: 'COMMONPLACE_FILE_VERSIONS',
    help: 'versions of a file that are kept',
    parse: integer(1, 1000),
    fallback: 20,
  },
  uploadHours: { help: 'hours that an upload may take before it expires', parse: integer(1, 168), fallback: 24 },
  fetchSeconds: { help: 'seconds that fetching a file from a URL may take', parse: integer(1, 3600), fallback: 600 },
  importArchiveBytes: {
    help: 'maximum bytes of an archive that is imported',
    parse: integer(1, 1024 * GIB),
    fallback: 5 * GIB,
  },
  importUnpackedBytes: {
    help: 'maximum bytes that an imported archive unpacks to',
    parse: integer(1, 8192 * GIB),
    fallback: 20 * GIB,
  },
  importEntries: {
    help: 'maximum entries of an imported archive, including those of archives in it',
    parse: integer(1, 10_000_000),
    fallback: 100_000,
  },
  importRatio: {
    help: 'maximum bytes that one byte of an imported archive unpacks to',
    parse: integer(1, 100_000),
    fallback: 200,
  },
  importNesting: { help: 'maximum levels of archives within an imported archive', parse: integer(0, 10), fallback: 2 },
  importPathLength: {
    help: 'maximum characters of a path in an imported archive',
    parse: integer(1, 65_535),
    fallback: 1024,
  },
  importImages: { help: 'maximum remote images that one import fetches', parse: integer(0, 100_000), fallback: 1_000 },
  importImageBytes: {
    help: 'maximum bytes of one image that an import fetches',
    parse: integer(1, GIB),
    fallback: 20 * 1024 * 1024,
  },
  importImagesBytes: {
    help: 'maximum bytes of all images that one import fetches',
    parse: integer(1, 1024 * GIB),
    fallback: GIB,
  },
  importImagesSeconds: {
    help: 'maximum seconds that one import fetches images',
    parse: integer(1, 86_400),
    fallback: 600,
  },
  mediaProcesses: {
    help: 'processes that create thumbnails and extract text of files; one Org uses all except one of them',
    parse: integer(1, 64),
    fallback: 2,
  },
  mediaSeconds: {
    help: 'maximum seconds that extracting the text of one file may take; a thumbnail may take at most 20',
    parse: integer(1, 600),
    fallback: 30,
  },
  mediaWaiting: {
    help: 'maximum files of one Org that wait for a media process; further thumbnails are refused, and texts are extracted later',
    parse: integer(1, 100_000),
    fallback: 1000,
  },
  importWorkers: {
    help: 'imports that a process runs at the same time; 0 leaves them to other processes',
    parse: integer(0, 100),
    fallback: 2,
  },
  importsRunning: {
    help: 'maximum imports of one workspace that run at the same time; others wait',
    parse: integer(1, 1000),
    fallback: 3,
  },
  importsWaiting: {
    help: 'maximum imports of one workspace that wait; more are refused',
    parse: integer(1, 100_000),
    fallback: 20,
  },
});

export type Settings = Values<typeof config>;

/** Seconds that an upload URL is valid; a new one can be requested while the upload lasts. */
export const UPLOAD_URL_SECONDS = 3600;
/** Seconds that a download URL is valid by default. */
export const DOWNLOAD_URL_SECONDS = 300;
/** Days that an export of a workspace is kept. */
export const EXPORT_DAYS = 7;
