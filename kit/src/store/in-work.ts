import { LostRace, type Store, type UnitOfWork } from './port.js';

const MAX_RUNS = 12;

/** Does work of which nobody's request is the unit; again, where others have changed what it read. */
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
