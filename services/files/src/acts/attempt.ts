import { newId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import type { Intent } from '../stores/records.js';

/** What is going to be done; durable before anything of it is. `forMs` is the longest that it may take. */
export async function beginAttempt(
  parts: Parts,
  about: Pick<Intent, 'fileId' | 'revision' | 'blobId'>,
  forMs: number,
): Promise<Intent> {
  const until = new Date(Date.now() + forMs).toISOString();
  const { fileId, revision, blobId } = about;
  return inWork(parts.store, async (work) =>
    work.insert(parts.intents, { id: newId(), fileId, revision, blobId, process: parts.process, until }),
  );
}

/** It is done with, one way or the other, and nothing of it is left half. */
export async function endAttempt(parts: Parts, intent: Intent): Promise<void> {
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.intents, intent.id);
    if (present !== undefined) work.remove(parts.intents, present);
  });
}

/** It has not come to its end: the next pass of the sweeper settles it. */
export async function leaveAttempt(parts: Parts, intent: Intent): Promise<void> {
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.intents, intent.id);
    const until = new Date().toISOString();
    if (present !== undefined) work.replace(parts.intents, present, { ...present, until });
  });
}
