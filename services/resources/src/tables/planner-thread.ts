import { performTasks, withBuffers } from '@commonplace/kit/workers';
import { createTableImage, createTableView } from './image.js';
import { planWrite, type WriteRequest, type WriteTerms } from './write.js';

// This worker thread plans writes to tables, one at a time, without access to stored rows.

/** Reports that a write needs rows that the table has already. */
class NeedsRows extends Error {}

const states: WriteTerms['states'] = {
  async open(id, head) {
    if (head.rowCount > 0) throw new NeedsRows();
    return { head: { ...head, id }, view: createTableView(createTableImage(), []) };
  },
  async text() {
    throw new NeedsRows();
  },
};
const open: WriteTerms['open'] = async () => undefined;
const breathe = async () => {};

async function perform(request: WriteRequest): Promise<unknown> {
  try {
    return await planWrite({ ...withBuffers(request), states, open, breathe });
  } catch (error) {
    if (error instanceof NeedsRows) return undefined;
    throw error;
  }
}

performTasks(perform);
