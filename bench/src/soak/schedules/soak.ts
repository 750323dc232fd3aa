import { missingServers } from '../mesh/servers.js';
import type { Tally } from '../tally.js';
import { soakDowntime } from './downtime.js';
import { soakMinute, soakQuietMinute } from './minute.js';
import { openReplicas, openSingle, type Place } from './place.js';

/**
 * Tests schedules under kills, `rounds` times in each environment: in one process on SQLite, and in three processes on
 * real servers. The latter is skipped if the servers can't be installed.
 */
export async function soakSchedules(rounds: number, home: string, tally: Tally): Promise<void> {
  const soakAll = async (name: string, open: (folder: string) => Promise<Place>) => {
    for (let round = 1; round <= rounds; round++) {
      for (const soak of [soakDowntime, soakQuietMinute, soakMinute]) {
        await within(await open(`${home}-${name}-${round}-${soak.name}`), soak, tally);
      }
    }
  };
  await soakAll('single', async (folder) => openSingle(folder));
  const missing = await missingServers();
  if (missing === undefined) await soakAll('replicas', openReplicas);
  else tally.skip('schedules in several processes', missing);
}

async function within(place: Place, soak: typeof soakMinute, tally: Tally): Promise<void> {
  try {
    await soak(place, tally);
  } finally {
    await place.stop();
  }
}
