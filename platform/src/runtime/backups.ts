import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gauge } from '@commonplace/kit/telemetry';

/** File in the data folder whose modification time is that of the last backup. */
const NOTE = 'last-backup';

const age = gauge('backup.age', 's', 'Time since the last backup; since the data began where there was none.');

/** Records that a data folder was backed up. If the file cannot be written, the reported age keeps growing. */
export async function noteBackup(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, NOTE), `${new Date().toISOString()}\n`, { mode: 0o600 });
}

/**
 * Reports the age of a data folder's last backup. `database` is the file whose creation time is used if there was none.
 */
export function observeBackups(dataDir: string, database: string): () => void {
  return age.observe(async () => {
    const noted = await stat(join(dataDir, NOTE)).catch(() => undefined);
    const since = noted?.mtimeMs ?? (await stat(database)).birthtimeMs;
    return [{ attributes: {}, value: Math.max(0, (Date.now() - since) / 1000) }];
  });
}
