import { foldName } from '@commonplace/kit/words';
import { addFields, type Migration } from '@commonplace/platform/runtime';
import { apiKeyCollection } from './stores/api-keys.js';

/** Lists are searched by folded names. */
const foldNames: Migration = {
  name: 'fold names of API keys',
  run: (store) => addFields(store, apiKeyCollection, ({ name }) => ({ nameFold: foldName(name) })),
};

export const migrations: readonly Migration[] = [foldNames];
