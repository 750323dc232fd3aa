import { counter, gauge } from '@commonplace/kit/telemetry';

/** Counts how often this process has fetched the keys that verify caller tokens. */
export const fetchedKeys = counter('jwks.fetches', '{fetch}', 'Fetches of the keys that verify caller tokens.');

const formats = gauge(
  'migration.version',
  '{version}',
  'Form of what a service has stored: one more after each of its migrations.',
);

/** Reports the format version of a service's stored data. */
export function observeFormat(service: string, format: () => Promise<number>): void {
  formats.observe(async () => [{ attributes: { 'store.name': service }, value: await format() }]);
}
