import { defineSettings, integer, url, type Values, wholeNumber } from '@commonplace/kit/config';
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
  inlineFileBytes: wholeNumber(
    5 * MIB,
    [1, 48 * MIB],
    'maximum bytes of a file that is contained in the request itself; never more than COMMONPLACE_FILE_BYTES',
  ),
  singleUploadBytes: wholeNumber(
    100 * MIB,
    [1, 5 * GIB],
    'maximum bytes of an upload in one request; larger ones are sent in parts',
  ),
  uploadPartBytes: wholeNumber(
    16 * MIB,
    [64 * 1024, 5 * GIB],
    'bytes of a part of an upload; a bucket requires at least 5 MiB',
  ),
  storageQuotaBytes: {
    common: 'maximum bytes of files of one Org',
    help: 'maximum bytes of the files of one Org or Personal workspace, including older versions and trash',
    parse: integer(0, Number.MAX_SAFE_INTEGER),
    fallback: undefined as number | undefined,
  },
  temporaryStorageBytes: {
    help: 'maximum bytes of the import sources and exports of one Org or Personal workspace, in addition to its storage quota; by default as many as the quota',
    parse: integer(0, Number.MAX_SAFE_INTEGER),
    fallback: undefined as number | undefined,
  },
  sweepGraceDays: wholeNumber(
    7,
    [0, 3650],
    'days that stored bytes without a record are kept before they are moved into the trash of the store',
  ),
  sweepTrashDays: wholeNumber(
    30,
    [0, 3650],
    'days that such bytes can be restored from the trash of the store before they are deleted',
  ),
  sweepPercent: wholeNumber(
    5,
    [0, 100],
    'maximum percentage of stored objects without a record that is moved to the trash without an operator (commonplace sweeper)',
  ),
  sweepObjects: wholeNumber(
    20,
    [0, 1_000_000],
    'stored objects without a record that are moved to the trash regardless of their percentage',
  ),
  fileVersions: wholeNumber(20, [1, 1000], 'versions of a file that are kept'),
  uploadHours: wholeNumber(24, [1, 168], 'hours that an upload may take before it expires'),
  fetchSeconds: wholeNumber(600, [1, 3600], 'seconds that fetching a file from a URL may take'),
  importArchiveBytes: wholeNumber(5 * GIB, [1, 1024 * GIB], 'maximum bytes of an archive that is imported'),
  importUnpackedBytes: wholeNumber(20 * GIB, [1, 8192 * GIB], 'maximum bytes that an imported archive unpacks to'),
  importEntries: wholeNumber(
    100_000,
    [1, 10_000_000],
    'maximum entries of an imported archive, including those of archives in it',
  ),
  importRatio: wholeNumber(200, [1, 100_000], 'maximum bytes that one byte of an imported archive unpacks to'),
  importNesting: wholeNumber(2, [0, 10], 'maximum levels of archives within an imported archive'),
  importPathLength: wholeNumber(1024, [1, 65_535], 'maximum characters of a path in an imported archive'),
  importImages: wholeNumber(1_000, [0, 100_000], 'maximum remote images that one import fetches'),
  importImageBytes: wholeNumber(20 * 1024 * 1024, [1, GIB], 'maximum bytes of one image that an import fetches'),
  importImagesBytes: wholeNumber(GIB, [1, 1024 * GIB], 'maximum bytes of all images that one import fetches'),
  importImagesSeconds: wholeNumber(600, [1, 86_400], 'maximum seconds that one import fetches images'),
  mediaProcesses: wholeNumber(
    2,
    [1, 64],
    'processes that create thumbnails and extract text of files; one Org uses all except one of them',
  ),
  mediaSeconds: wholeNumber(
    30,
    [1, 600],
    'maximum seconds that extracting the text of one file may take; a thumbnail may take at most 20',
  ),
  mediaWaiting: wholeNumber(
    1000,
    [1, 100_000],
    'maximum files of one Org that wait for a media process; further thumbnails are refused, and texts are extracted later',
  ),
  importWorkers: wholeNumber(
    2,
    [0, 100],
    'imports that a process runs at the same time; 0 leaves them to other processes',
  ),
  importsRunning: wholeNumber(3, [1, 1000], 'maximum imports of one workspace that run at the same time; others wait'),
  importsWaiting: wholeNumber(20, [1, 100_000], 'maximum imports of one workspace that wait; more are refused'),
});

export type Settings = Values<typeof config>;

/** Seconds that an upload URL is valid; a new one can be requested while the upload lasts. */
export const UPLOAD_URL_SECONDS = 3600;
/** Seconds that a download URL is valid by default. */
export const DOWNLOAD_URL_SECONDS = 300;
/** Days that an export of a workspace is kept. */
export const EXPORT_DAYS = 7;
