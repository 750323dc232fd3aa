import { counter, gauge } from '../telemetry/instruments.js';

/** How often this process has fetched the keys that caller tokens are verified by. */
export const fetchedKeys = counter({
  name: 'jwks.fetches',
  unit: '{fetch}',
  description: 'Fetches of the keys that verify caller tokens.',
});

const formats = gauge({
  name: 'migration.version',
  unit: '{version}',
  description: 'Form of what a service has stored: one more after each of its migrations.',
});

/** Tells the form in which a service stores. */
export function observeFormat(service: string, format: () => Promise<number>): void {
  formats.observe(async () => [{ attributes: { 'store.name': service }, value: await format() }]);
}
