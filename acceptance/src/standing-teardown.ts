import { shared } from './standing-setup.js';

/** Ends the shared systems, if there are any. Runs once after all tests. */
export default async function teardown(): Promise<void> {
  await shared.endStanding?.();
}
