import { noteBackup } from '@commonplace/platform/runtime';
import { Command } from 'commander';
import { KEY_FILES, type Manifest } from '../backup/manifest.js';
import { sizeOf } from '../backup/source.js';
import { takeBackup } from '../backup/take.js';
import { CommandError, EXIT } from '../exit.js';
import { readPlaces } from '../settings.js';
import { answer, type Context, examples, progressOf, sizeText } from './context.js';

/** Creates the command `commonplace backup`. */
export function backupCommand(context: Context): Command {
  return new Command('backup')
    .description(
      'Backs up an embedded system, whether it runs or not: its records as they are at one moment, the bytes of files ' +
        'that these name, and its keys. Not the search index, which a restored system makes anew.',
    )
    .requiredOption('--to <place>', 'a folder that is missing or empty, or a file whose name ends in .tar')
    .addHelpText(
      'after',
      `\nA backup holds the keys of the system: keep it as you keep those.\n${examples([
        'commonplace backup --to /backups/2026-11-21',
        'commonplace backup --to /backups/2026-11-21.tar --data-dir /var/lib/commonplace --json',
      ])}`,
    )
    .action(async ({ to }: { to: string }) => {
      const { dataDir, mongodbUrl, s3Url } = readPlaces(context.env);
      if (mongodbUrl !== undefined) throw new CommandError(EXIT.config, FOR_THE_MESH);
      const began = performance.now();
      const manifest = await takeBackup({ dataDir, to, bucket: s3Url !== undefined }, progressOf());
      // Whoever backs up may have read access only, so that failures are ignored.
      await noteBackup(dataDir).catch(() => {});
      const seconds = Math.round(performance.now() - began) / 1000;
      const warnings = warningsOf(manifest);
      const { files, ...about } = manifest;
      const bytes = sizeOf(manifest);
      answer(context, { to, seconds, bytes, files: files.length, ...about, warnings }, [
        `${to}: ${countOf(manifest)} records, ${manifest.blobs} blobs, ${sizeText(bytes)} in ${seconds.toFixed(1)} s`,
        ...warnings.map((line) => `Warning: ${line}`),
      ]);
    });
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
