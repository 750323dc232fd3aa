import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gauge } from '../telemetry/instruments.js';

/** When the last backup was made, by the time of this file in the data folder. */
const NOTE = 'last-backup';

const age = gauge({
  name: 'backup.age',
  unit: 's',
  description: 'Time since the last backup; since the data began where there was none.',
});

/** Notes that a data folder was backed up. Where it can't be written, the age goes on growing. */
export async function noteBackup(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, NOTE), `${new Date().toISOString()}\n`, { mode: 0o600 });
}

/** Tells how old the last backup of a data folder is; `database` is the file that its data began with. */
export function observeBackups(dataDir: string, database: string): () => void {
  return age.observe(async () => {
    const noted = await stat(join(dataDir, NOTE)).catch(() => undefined);
    const since = noted?.mtimeMs ?? (await stat(database)).birthtimeMs;
    return [{ attributes: {}, value: Math.max(0, (Date.now() - since) / 1000) }];
  });
}
