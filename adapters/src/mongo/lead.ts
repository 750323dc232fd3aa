import type { Collection } from 'mongodb';
import { duplicateOf } from './errors.js';
import { createSilence } from './silence.js';

/** The lease of the leader, and a counter that it increments while it leads. */
interface LeadDocument {
  _id: string;
  holder: string | null;
  beat: number;
}

const ID = 'relay';

/** Elects a leader among instances. A contender takes over if it has not seen the counter change for a while. */
export function createLead(leads: Collection<LeadDocument>) {
  const silence = createSilence();

  const take = async (instance: string): Promise<boolean> => {
    const renewed = await leads.updateOne({ _id: ID, holder: instance }, { $inc: { beat: 1 } });
    if (renewed.matchedCount === 1) return true;
    const now = await leads.findOne({ _id: ID });
    if (now === null) return begin(instance);
    if (now.holder !== null && !silence.isSilent(ID, `${now.holder} ${now.beat}`)) return false;
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
  const resign = async (instance: string): Promise<void> => {
    await leads.updateOne({ _id: ID, holder: instance }, { $set: { holder: null } });
  };
  return { take, resign };
}
