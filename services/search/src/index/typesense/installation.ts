import type { IdentifiedStore } from '@commonplace/kit/installation';
import { IndexFailure } from '../port.js';
import { openServer, type ServerOptions } from './client.js';
import { createTypesenseHold, holderOf } from './holder.js';

interface TypesenseInstallationOptions extends ServerOptions {
  /** Prefix of the names of all collections of an installation. */
  readonly prefix: string;
}

const ID = 'installation';

/**
 * Opens the collections of one prefix as a store that carries the id of its installation and the token of the database
 * that holds it, each in a collection of its own.
 */
export function openTypesenseInstallation({ prefix, ...options }: TypesenseInstallationOptions): IdentifiedStore {
  const server = openServer(options);
  const carrier = `${prefix}-installation`;
  const readId = async (): Promise<string | undefined> => {
    if (!(await server.collections()).has(carrier)) return undefined;
    const [found] = await server.search([{ collection: carrier, q: '*' }]);
    const id = found?.hits[0]?.document.installation_id;
    return id === undefined ? undefined : String(id);
  };
  return {
    kind: 'index',
    place: `the index ${prefix} of Typesense at ${options.urls.map((url) => new URL(url).host).join(', ')}`,
    readId,
    async isEmpty() {
      const names = [...(await server.collections()).keys()];
      const own = [carrier, holderOf(prefix)];
      return names.every((name) => !name.startsWith(`${prefix}-`) || own.includes(name));
    },
    async claim(id, replace = false) {
      await makeCarrier();
      const [line] = await server.write(carrier, replace ? 'upsert' : 'create', [{ id: ID, installation_id: id }]);
      if (line === 'missing') throw new IndexFailure(`${carrier} does not accept the id of the installation`);
      return (await readId()) ?? id;
    },
    hold: createTypesenseHold(server, prefix),
    close: async () => server.close(),
  };

  /** Creates the collection with the id; another process may do so concurrently. */
  async function makeCarrier(): Promise<void> {
    if ((await server.collections()).has(carrier)) return;
    await server
      .create({ name: carrier, fields: [{ name: 'installation_id', type: 'string' }] })
      .catch(async (error) => {
        if (!(await server.collections()).has(carrier)) throw error;
      });
  }
}
