import { gauge } from './instruments.js';

const pending = gauge({
  name: 'outbox.pending',
  unit: '{event}',
  description: 'Events that are committed and not published, counted up to 10,000.',
});
const oldestAge = gauge({
  name: 'outbox.oldest.age',
  unit: 's',
  description: 'Age of the oldest event that is committed and not published.',
});

/** How many entries wait, and the time of the first of them, RFC 3339. */
export type Backlog = () => Promise<{ pending: number; oldest: string | undefined }>;

/** Tells what waits in the outbox of a service. Gives what ends that. */
export function observeOutbox(service: string, backlog: Backlog): () => void {
  const attributes = { 'outbox.name': service };
  const ends = [
    pending.observe(async () => [{ attributes, value: (await backlog()).pending }]),
    oldestAge.observe(async () => {
      const { oldest } = await backlog();
      return [{ attributes, value: oldest === undefined ? 0 : Math.max(0, (Date.now() - Date.parse(oldest)) / 1000) }];
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
