import { foldName } from '@commonplace/kit/words';
import { addFields, type Migration } from '@commonplace/platform/runtime';
import { importCollection } from './imports/stores/records.js';

/** Lists are searched by folded names. */
const foldNames: Migration = {
  name: 'fold names of imports',
  run: (store) => addFields(store, importCollection, ({ name }) => ({ nameFold: foldName(name) })),
};

export const migrations: readonly Migration[] = [foldNames];
