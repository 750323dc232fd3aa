import { test } from '@jest/globals';

/** Names of tests that an adapter cannot pass, each with the reason. */
export type OptOuts = Readonly<Record<string, string>>;

/** Registers one test per duty, and skips those that the adapter opts out of by name. */
export interface Duties {
  (title: string, check: () => Promise<void>): void;
  /** Fails if an opt-out names no duty. Call it once all duties are registered. */
  finish(): void;
}

/** Timeout of one duty in milliseconds; real servers on a busy machine are slow. */
const TIMEOUT = 60_000;

export function createDuties(optOuts: OptOuts): Duties {
  const titles = new Set<string>();
  const duty = (title: string, check: () => Promise<void>): void => {
    titles.add(title);
    const reason = optOuts[title];
    if (reason === undefined) test(title, check, TIMEOUT);
    else test.skip(`${title} (${reason})`, () => {});
  };
  const finish = (): void => {
    const unknown = Object.keys(optOuts).filter((title) => !titles.has(title));
    if (unknown.length > 0) throw new Error(`no such duty: ${unknown.join(', ')}`);
  };
  return Object.assign(duty, { finish });
}
