import { foldName } from '@commonplace/kit/words';
import { addFields, type Migration } from '@commonplace/platform/runtime';
import { automationCollection } from './definitions/records.js';
import { scheduleCollection } from './schedules/records.js';

/** Lists are sorted by folded names. */
const foldNames: Migration = {
  name: 'fold names of automations and schedules',
  async run(store) {
    await addFields(store, automationCollection, ({ name }) => ({ nameFold: foldName(name) }));
    await addFields(store, scheduleCollection, ({ name }) => ({ nameFold: foldName(name) }));
  },
};

export const migrations: readonly Migration[] = [foldNames];
