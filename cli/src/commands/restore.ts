import { Command } from 'commander';
import { restoreBackup } from '../backup/restore.js';
import { sizeOf } from '../backup/source.js';
import { countOf } from './backup.js';
import { answer, type Context, examples, progressOf, sizeText } from './context.js';

interface Options {
  readonly from: string;
  readonly to: string;
  readonly sameInstallation?: boolean;
}

/** Creates the command `commonplace restore`. */
export function restoreCommand(context: Context): Command {
  return new Command('restore')
    .description(
      'Restores a backup into an empty data folder. All of it is read first, and again when it is written; a backup in ' +
        'which one bit is not as it was is refused.',
    )
    .requiredOption('--from <backup>', 'the folder or the file')
    .requiredOption('--to <folder>', 'the data folder: missing, empty, or left by a restore that was interrupted')
    .option(
      '--same-installation',
      'take the place of the installation that was backed up, with its bucket and index; that one must never run again',
    )
    .addHelpText(
      'after',
      examples([
        'commonplace restore --from /backups/2026-11-21.tar --to /var/lib/commonplace',
        'COMMONPLACE_DATA_DIR=/var/lib/commonplace npm start',
      ]),
    )
    .action(async ({ from, to, sameInstallation = false }: Options) => {
      const began = performance.now();
      const manifest = await restoreBackup({ from, to, sameInstallation }, progressOf());
      const seconds = Math.round(performance.now() - began) / 1000;
      const { files, ...about } = manifest;
      const bytes = sizeOf(manifest);
      answer(
        context,
        { from, to, same_installation: sameInstallation, seconds, bytes, files: files.length, ...about },
        [
          `${to}: ${countOf(manifest)} records, ${manifest.blobs} blobs of ${manifest.createdAt}, ` +
            `${sizeText(bytes)} in ${seconds.toFixed(1)} s. The search index is made when it starts.`,
          ...(sameInstallation ? [] : [ownInstallation(manifest.bytesOfFiles === 'bucket')]),
        ],
      );
    });
}

function ownInstallation(hasBucket: boolean): string {
  const said = 'It is an installation of its own, which uses nothing of the one that was backed up';
  if (!hasBucket) return `${said}.`;
  return (
    `${said}: the bytes of its files are in the bucket of that one. Copy them to a prefix of its own without ` +
    'installation.json, name it in COMMONPLACE_S3_URL and start once with COMMONPLACE_ADOPT=files; or restore with ' +
    '--same-installation where the other will never run again.'
  );
}
