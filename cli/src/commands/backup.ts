import { noteBackup } from '@commonplace/platform/runtime';
import { Command, InvalidArgumentError, Option } from 'commander';
import { KEY_FILES, type Manifest } from '../backup/manifest.js';
import { deleteOlder, nameOf, openSeries, withoutKey } from '../backup/series.js';
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

/** Creates the command `commonplace backup`. */
export function backupCommand(context: Context): Command {
  return new Command('backup')
    .description(
      'Backs up an embedded system, whether it runs or not: its records as they are at one moment, the bytes of files ' +
        'that these name, and its keys. Not the search index, which a restored system makes anew.',
    )
    .option(
      '--to <place>',
      'a folder that is missing or empty, a file whose name ends in .tar, or - for standard output',
    )
    .option('--into <place>', 'a folder or bucket of backups, to which one named after the time is added')
    .addOption(new Option('--keep <count>', 'with --into: delete all but the newest ones').argParser(readKeep))
    .addHelpText('after', HELP)
    .action(async ({ to, into, keep }: Options) => {
      const { dataDir, mongodbUrl, s3Url } = readPlaces(context.env);
      if ((to === undefined) === (into === undefined)) throw new CommandError(EXIT.usage, 'name either --to or --into');
      if (keep !== undefined && into === undefined) throw new CommandError(EXIT.usage, '--keep needs --into');
      if (mongodbUrl !== undefined) throw new CommandError(EXIT.config, FOR_THE_MESH);
      const take = (sink: string | Sink) =>
        takeBackup({ dataDir, to: sink, bucket: s3Url !== undefined }, progressOf());
      const began = performance.now();
      const { place, manifest, deleted } =
        into === undefined
          ? { place: to as string, manifest: await take(to as string), deleted: [] }
          : await addTo(into, keep, take);
      // Whoever backs up may have read access only, so that failures are ignored.
      await noteBackup(dataDir).catch(() => {});
      const seconds = Math.round(performance.now() - began) / 1000;
      const warnings = warningsOf(manifest);
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
  throw new InvalidArgumentError('It is a whole number from 1 on.');
}

/** Adds a backup to a folder or bucket of backups, and deletes old ones once it is complete. */
async function addTo(into: string, keep: number | undefined, take: (sink: Sink) => Promise<Manifest>) {
  const series = await openSeries(into);
  try {
    const name = nameOf(new Date());
    const manifest = await take(await series.openSink(name));
    const deleted = keep === undefined ? [] : await deleteOlder(series, keep);
    return { place: `${withoutKey(into)}: ${name}`, manifest, deleted };
  } finally {
    await series.close();
  }
}

const FOR_THE_MESH =
  'records are in MongoDB (COMMONPLACE_MONGODB_URL): back it up by its own tools (mongodump --oplog, or snapshots), ' +
  'and the bucket by its versions. This command is for the embedded system; see docs/operations.md';

export function countOf({ records }: Manifest): number {
  return Object.values(records).reduce((sum, count) => sum + count, 0);
}

function warningsOf({ files, missingBlobs, bytesOfFiles }: Manifest): string[] {
  const paths = new Set(files.map(({ path }) => path));
  const keys = KEY_FILES.filter((name) => !paths.has(name));
  const warnings: string[] = [];
  if (keys.length > 0) {
    warnings.push(`${keys.join(' and ')} are not in the data folder: keep what the settings say with the backup`);
  }
  if (bytesOfFiles === 'bucket') warnings.push('the bytes of files are in a bucket, and not in the backup');
  if (missingBlobs.length > 0) {
    warnings.push(`the bytes of ${missingBlobs.length} files are gone from the data folder, first ${missingBlobs[0]}`);
  }
  return warnings;
}
