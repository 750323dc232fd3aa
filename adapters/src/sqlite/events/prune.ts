import type { EventHub } from './hub.js';
import { firstWaiting, lastSeq, type Place, placeStep } from './log.js';

const DAY_MS = 24 * 3600 * 1000;
const KEPT_MS = 7 * DAY_MS;
/** Milliseconds after which a consumer that no process has run no longer prevents deletions. */
const ABANDONED_MS = 30 * DAY_MS;
/** Number of rows deleted in one unit, so that other writers do not wait long. */
const STRIDE = 1_000;

/**
 * Deletes events that are older than 7 days and that every consumer has handled or does not subscribe to. Returns their
 * number. `now` is in milliseconds since 1970.
 */
export async function pruneEvents(hub: EventHub, now: number): Promise<number> {
  const { reader, queue } = hub;
  // A position that advanced only over events without a subscriber is not saved otherwise.
  const active = [...hub.consumers].flatMap(([name, { place }]) => (place === undefined ? [] : [{ name, place }]));
  if (active.length > 0) await queue.commit(active.map(({ name, place }) => placeStep(name, place.seq)));
  let end = lastSeq(reader) + 1;
  for (const place of placesOf(hub, now)) end = Math.min(end, (await firstWaiting(reader, place, end - 1)) ?? end);
  for (let deleted = 0; ; ) {
    const page = 'SELECT seq, at FROM events WHERE seq < ? ORDER BY seq LIMIT ?';
    const old = reader.all(page, [end, STRIDE]).filter(([, at]) => (at as number) < now - KEPT_MS);
    const last = old.at(-1)?.[0];
    if (last === undefined) return deleted;
    const [count] = await queue.commit([['DELETE FROM events WHERE seq <= ?', [last], 'any']]);
    deleted += count ?? 0;
  }
}

function placesOf(hub: EventHub, now: number): Place[] {
  const rows = hub.reader.all('SELECT types, seq FROM consumers WHERE at >= ?', [now - ABANDONED_MS]);
  return rows.map(([types, seq]) => ({ types: JSON.parse(types as string) as string[], seq: seq as number }));
}
