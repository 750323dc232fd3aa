import { LostRace, type Store, type UnitOfWork } from './port.js';

const MAX_RUNS = 12;

/**
 * Runs `change` in a unit of work outside of any request, and commits it. Runs it again, up to `MAX_RUNS` times, if the
 * commit rejects with `LostRace`.
 */
export async function inWork<T>(store: Store, change: (work: UnitOfWork) => Promise<T>): Promise<T> {
  for (let run = 1; ; run++) {
    const work = store.begin();
    const result = await change(work);
    if (!work.dirty) return result;
    try {
      await work.commit();
      return result;
    } catch (error) {
      if (!(error instanceof LostRace) || run === MAX_RUNS) throw error;
    }
  }
}
