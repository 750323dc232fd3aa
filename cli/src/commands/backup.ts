import { noteBackup } from '@commonplace/platform/runtime';
import { Command, InvalidArgumentError, Option } from 'commander';
import { KEY_FILES, type Manifest } from '../backup/manifest.js';
import { isWithin, parseBucketUrl, withoutKey } from '../backup/places.js';
import { deleteOlder, nameOf, openSeries } from '../backup/series.js';
import { type Sink, STANDARD_OUTPUT } from '../backup/sink.js';
import { sizeOf } from '../backup/source.js';
import { takeBackup } from '../backup/take.js';
import { CommandError, EXIT } from '../exit.js';
import { readPlaces } from '../settings.js';
import { answer, type Context, examples, progressOf, sizeText } from './context.js';

interface Options {
  readonly to?: string;
  readonly into?: string;
  readonly keep?: number;
}

export function backupCommand(context: Context): Command {
  return new Command('backup')
    .description(
      'Backs up an embedded system, whether or not it is running: a consistent snapshot of its records, the bytes of ' +
        'files that they refer to, and its keys. The search index is not included; a restored system rebuilds it.',
    )
    .option('--to <place>', 'a missing or empty folder, a file whose name ends in .tar, or - for standard output')
    .option('--into <place>', 'a folder or bucket of backups; adds one that is named after the current time')
    .addOption(new Option('--keep <count>', 'with --into: delete all but the newest ones').argParser(readKeep))
    .addHelpText('after', HELP)
    .action(async ({ to, into, keep }: Options) => {
      const { dataDir, mongodbUrl, s3Url } = readPlaces(context.env);
      if ((to === undefined) === (into === undefined))
        throw new CommandError(EXIT.usage, 'specify either --to or --into');
      if (keep !== undefined && into === undefined) throw new CommandError(EXIT.usage, '--keep needs --into');
      if (mongodbUrl !== undefined) throw new CommandError(EXIT.config, FOR_THE_MESH);
      const take = (sink: string | Sink) =>
        takeBackup({ dataDir, to: sink, bucket: s3Url !== undefined }, progressOf());
      const began = performance.now();
      const { place, manifest, deleted, newer } =
        into === undefined
          ? { place: to as string, manifest: await take(to as string), deleted: [], newer: [] }
          : await addTo(into, keep, take);
      // The note only serves the metric of the age of backups. The user may have read access only, so failures are ignored.
      await noteBackup(dataDir).catch(() => {});
      const seconds = Math.round(performance.now() - began) / 1000;
      const warnings = [
        ...newer.map(nameOfFuture),
        ...warningsOf(manifest),
        ...(isLostWith(dataDir, into ?? (to as string)) ? [`the backup is in ${dataDir}, and is lost with it`] : []),
      ];
      const { files, ...about } = manifest;
      const bytes = sizeOf(manifest);
      const forPrograms = { to: place, seconds, bytes, files: files.length, ...about, warnings, deleted };
      const forPeople = [
        `${place}: ${countOf(manifest)} records, ${manifest.blobs} blobs, ${sizeText(bytes)} in ${seconds.toFixed(1)} s`,
        ...deleted.map((name) => `Deleted: ${name}`),
        ...warnings.map((line) => `Warning: ${line}`),
      ];
      answer(context, forPrograms, forPeople, { toStderr: to === STANDARD_OUTPUT });
    });
}

const HELP = `
A backup holds the keys of the system: keep it as you keep those. A bucket is named by its URL,
https://host/bucket/prefix?region=…, and its key by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
${examples([
  'commonplace backup --to /backups/2026-11-21',
  'commonplace backup --to /backups/2026-11-21.tar --data-dir /var/lib/commonplace --json',
  'commonplace backup --to - | ssh backup@vault "cat > commonplace.tar"',
  'commonplace backup --into https://s3.example.com/backups/work?region=eu-west-1 --keep 14',
])}`;

function readKeep(text: string): number {
  const keep = Number(text);
  if (Number.isInteger(keep) && keep >= 1) return keep;
  throw new InvalidArgumentError('It must be an integer of at least 1.');
}

/** Adds a backup to a folder or bucket of backups. Deletes old ones once it is complete. */
async function addTo(into: string, keep: number | undefined, take: (sink: Sink) => Promise<Manifest>) {
  const series = await openSeries(into);
  try {
    const name = nameOf(new Date());
    const manifest = await take(await series.openSink(name));
    const deleted = keep === undefined ? [] : await deleteOlder(series, keep, name);
    const newer = (await series.list()).filter((other) => other > name);
    return { place: `${withoutKey(into)}: ${name}`, manifest, deleted, newer };
  } finally {
    await series.close();
  }
}

const isLostWith = (dataDir: string, place: string): boolean =>
  place !== STANDARD_OUTPUT && parseBucketUrl(place) === undefined && isWithin(dataDir, place);

const nameOfFuture = (name: string): string =>
  `${name} is named after a later time than this backup: a clock was wrong, and restore --newest would restore that one`;

const FOR_THE_MESH =
  'this command only supports the embedded system, but records are in MongoDB (COMMONPLACE_MONGODB_URL): back them up ' +
  'with mongodump --oplog or snapshots, and the bucket by its versions; see docs/operations.md';

export function countOf({ records }: Manifest): number {
  return Object.values(records).reduce((sum, count) => sum + count, 0);
}

function warningsOf({ files, missingBlobs, bytesOfFiles }: Manifest): string[] {
  const paths = new Set(files.map(({ path }) => path));
  const keys = KEY_FILES.filter((name) => !paths.has(name));
  const warnings: string[] = [];
  if (keys.length > 0) {
    warnings.push(
      `${keys.join(' and ')} are not in the data folder: keep the values of these settings with the backup`,
    );
  }
  if (bytesOfFiles === 'bucket') warnings.push('the bytes of files are in a bucket and are not part of the backup');
  if (missingBlobs.length > 0) {
    warnings.push(
      `the bytes of ${missingBlobs.length} files are missing from the data folder, for example ${missingBlobs[0]}`,
    );
  }
  return warnings;
}
