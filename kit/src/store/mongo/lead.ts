import type { Collection } from 'mongodb';
import { duplicateOf } from './errors.js';

/** Who leads, and a number that the leader changes for as long as it does. */
export interface LeadDocument {
  _id: string;
  holder: string | null;
  beat: number;
}

/** Milliseconds without a beat after which the lead may be taken over. */
const SILENCE = 3000;
const ID = 'relay';

/**
 * The lead among instances. Nobody's clock is compared with another's: a contender takes over when
 * it has not seen the beat change for a while of its own.
 */
export function createLead(leads: Collection<LeadDocument>) {
  let seen = { holder: '', beat: -1, since: 0 };

  const take = async (instance: string): Promise<boolean> => {
    const renewed = await leads.updateOne({ _id: ID, holder: instance }, { $inc: { beat: 1 } });
    if (renewed.matchedCount === 1) return true;
    const now = await leads.findOne({ _id: ID });
    if (now === null) return begin(instance);
    if (now.holder !== null && !isSilent(now.holder, now.beat)) return false;
    const { holder, beat } = now;
    const taken = await leads.updateOne({ _id: ID, holder, beat }, { $set: { holder: instance }, $inc: { beat: 1 } });
    return taken.matchedCount === 1;
  };
  const begin = async (instance: string): Promise<boolean> => {
    try {
      await leads.insertOne({ _id: ID, holder: instance, beat: 0 });
      return true;
    } catch (error) {
      if (duplicateOf(error) === undefined) throw error;
      return false;
    }
  };
  const isSilent = (holder: string, beat: number): boolean => {
    if (seen.holder !== holder || seen.beat !== beat) seen = { holder, beat, since: performance.now() };
    return performance.now() - seen.since > SILENCE;
  };
  const resign = async (instance: string): Promise<void> => {
    await leads.updateOne({ _id: ID, holder: instance }, { $set: { holder: null } });
  };
  return { take, resign };
}
