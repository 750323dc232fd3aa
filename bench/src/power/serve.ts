import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openClient } from '../http.js';
import { readBack } from '../soak/read-back.js';
import { searchAgrees } from '../soak/search-check.js';
import { checkUploads, UPLOAD_SETTINGS } from '../soak/uploads.js';
import { startSystem } from '../system.js';
import type { History } from './history.js';

const CONNECTIONS = 16;

/** Starts the complete system on an image. Returns the answers that differ from what was acknowledged. */
export async function serveImage(home: string, place: number, history: History): Promise<string[]> {
  const { workArea, uploadsWorkspaceId } = history;
  const done = history.documents.filter((writes) => writes.every((write) => write.place < place));
  const taken = new Set(history.uploads.filter((upload) => upload.place < place).map(({ id }) => id));
  if (done.length === 0) return [];
  const documents = new Map(done.flatMap((writes) => writes.slice(-1).map(({ after }) => [after.id, after] as const)));
  writeFileSync(join(home, 'bootstrap.json'), history.bootstrap);
  const system = await startSystem({ home, settings: UPLOAD_SETTINGS });
  const client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
  try {
    const ledger = { workArea, documents, done: [], formerNames: [], refusals: [] };
    return [
      ...(await readBack(client, documents.values())),
      ...(await checkUploads(client, [{ workspaceId: uploadsWorkspaceId, taken, refusals: [] }], home)),
      ...(await searchAgrees(client, ledger)).faults,
    ];
  } finally {
    client.close();
    await system.kill();
  }
}
