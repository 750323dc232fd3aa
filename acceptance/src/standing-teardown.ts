import { shared } from './standing-setup.js';

/** Runs once after all tests: ends the standing system, if there was one. */
export default async function teardown(): Promise<void> {
  await shared.endStanding?.();
}
