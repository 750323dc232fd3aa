import { Command } from 'commander';
import type { Manifest } from '../backup/manifest.js';
import { withoutKey } from '../backup/places.js';
import { isRestorable, restoreBackup } from '../backup/restore.js';
import { archiveInBucket, newestIn, openSeries } from '../backup/series.js';
import { type Source, sizeOf } from '../backup/source.js';
import { countOf } from './backup.js';
import { answer, type Context, examples, progressOf, sizeText } from './context.js';

interface Options {
  readonly from: string;
  readonly to: string;
  readonly sameInstallation?: boolean;
  readonly newest?: boolean;
  readonly ifEmpty?: boolean;
}

export function restoreCommand(context: Context): Command {
  return new Command('restore')
    .description(
      'Restores a backup into an empty data folder. Verifies the whole backup before writing, and again while writing; ' +
        'a backup with a single changed bit is refused.',
    )
    .requiredOption('--from <backup>', 'a folder, a file, or the URL of a file in a bucket')
    .option('--newest', 'restore the newest backup in a folder or bucket that backup --into has filled')
    .requiredOption('--to <folder>', 'the data folder: missing, empty, or left over from an interrupted restore')
    .option(
      '--same-installation',
      'replace the installation that was backed up, and use its bucket and index; that installation must never run again',
    )
    .option('--if-empty', 'succeed without restoring if the data folder has data')
    .addHelpText(
      'after',
      examples([
        'commonplace restore --newest --from https://s3.example.com/backups/work --to /var/lib/commonplace',
        'commonplace restore --from /backups/2026-11-21.tar --to /var/lib/commonplace',
        'COMMONPLACE_DATA_DIR=/var/lib/commonplace npm start',
      ]),
    )
    .action(async ({ from: place, to, sameInstallation = false, newest = false, ifEmpty = false }: Options) => {
      const began = performance.now();
      if (ifEmpty && !(await isRestorable(to))) {
        answer(context, { to, restored: false }, [`${to} has data: nothing is restored.`]);
        return;
      }
      const { from, manifest } = await opened(place, newest, async (source) =>
        restoreBackup({ from: source, to, sameInstallation }, progressOf()),
      );
      const seconds = Math.round(performance.now() - began) / 1000;
      const { files, ...about } = manifest;
      const bytes = sizeOf(manifest);
      answer(
        context,
        {
          from,
          to,
          restored: true,
          same_installation: sameInstallation,
          seconds,
          bytes,
          files: files.length,
          ...about,
        },
        [
          `${to}: ${countOf(manifest)} records, ${manifest.blobs} blobs of ${manifest.createdAt}, ` +
            `${sizeText(bytes)} in ${seconds.toFixed(1)} s. The next start builds the search index.`,
          ...(sameInstallation ? [] : [ownInstallation(manifest.bytesOfFiles === 'bucket')]),
        ],
      );
    });
}

/**
 * Opens the backup that `--from` and `--newest` select, and restores it. Returns the name of the backup and the
 * manifest.
 */
async function opened(
  place: string,
  newest: boolean,
  restore: (from: string | Source) => Promise<Manifest>,
): Promise<{ readonly from: string; readonly manifest: Manifest }> {
  const archive = newest ? undefined : archiveInBucket(place);
  if (!newest && archive === undefined) return { from: place, manifest: await restore(place) };
  const series = await openSeries(archive?.series ?? place);
  try {
    const name = archive?.name ?? (await newestIn(series, place));
    const manifest = await restore(await series.openSource(name));
    return { from: archive === undefined ? `${withoutKey(place)}: ${name}` : withoutKey(place), manifest };
  } finally {
    await series.close();
  }
}

function ownInstallation(hasBucket: boolean): string {
  const notice = 'It is an installation of its own, which uses nothing of the one that was backed up';
  if (!hasBucket) return `${notice}.`;
  return (
    `${notice}: the bytes of its files are in the bucket of that one. Copy them to a prefix of its own without ` +
    'installation.json, name it in COMMONPLACE_S3_URL and start once with COMMONPLACE_ADOPT=files; or restore with ' +
    '--same-installation where the other will never run again.'
  );
}
