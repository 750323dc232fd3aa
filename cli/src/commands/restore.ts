import { Command } from 'commander';
import { restoreBackup } from '../backup/restore.js';
import { sizeOf } from '../backup/source.js';
import { countOf } from './backup.js';
import { answer, type Context, examples, progressOf, sizeText } from './context.js';

/** `commonplace restore` */
export function restoreCommand(context: Context): Command {
  return new Command('restore')
    .description(
      'Restores a backup into an empty data folder. All of it is read first, and again when it is written; a backup in ' +
        'which one bit is not as it was is refused.',
    )
    .requiredOption('--from <backup>', 'the folder or the file')
    .requiredOption('--to <folder>', 'the data folder: missing, empty, or left by a restore that was interrupted')
    .addHelpText(
      'after',
      examples([
        'commonplace restore --from /backups/2026-11-21.tar --to /var/lib/commonplace',
        'COMMONPLACE_DATA_DIR=/var/lib/commonplace npm start',
      ]),
    )
    .action(async ({ from, to }: { from: string; to: string }) => {
      const began = performance.now();
      const manifest = await restoreBackup({ from, to }, progressOf());
      const seconds = Math.round(performance.now() - began) / 1000;
      const { files, ...about } = manifest;
      const bytes = sizeOf(manifest);
      answer(context, { from, to, seconds, bytes, files: files.length, ...about }, [
        `${to}: ${countOf(manifest)} records, ${manifest.blobs} blobs of ${manifest.createdAt}, ` +
          `${sizeText(bytes)} in ${seconds.toFixed(1)} s. The search index is made when it starts.`,
      ]);
    });
}
