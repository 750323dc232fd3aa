import { foldName } from '@commonplace/kit/words';
import { addFields, type Migration } from '@commonplace/platform/runtime';
import { titleFields } from './domain/chat-title.js';
import { agentCollection } from './stores/agents.js';
import { sessionCollection } from './stores/sessions.js';

/** Lists are sorted by folded names and titles. */
const foldNames: Migration = {
  name: 'fold names of agents and titles of chat sessions',
  async run(store) {
    await addFields(store, agentCollection, ({ name }) => ({ nameFold: foldName(name) }));
    await addFields(store, sessionCollection, ({ title }) => titleFields(title));
  },
};

export const migrations: readonly Migration[] = [foldNames];
