import type { StoreHold } from '@commonplace/kit/installation';
import type { Server } from './client.js';

/** Number of earlier tokens that are kept, so that a slow writer cannot reuse the number of one. */
const MAX_KEPT_TOKENS = 20;
const NONE = 0;

/** Returns the collection with the tokens by which databases hold an index. */
export const holderOf = (prefix: string): string => `${prefix}-holder`;

/**
 * Keeps the token of the database that holds an index. Typesense replaces no document on a condition, but creates one
 * only if its id is free: each token is a document whose id is its number, and the highest number is valid.
 */
export function createTypesenseHold(server: Server, prefix: string): StoreHold {
  const collection = holderOf(prefix);

  async function last(): Promise<{ readonly number: number; readonly token: string } | undefined> {
    if (!(await server.collections()).has(collection)) return undefined;
    const [found] = await server.search([{ collection, q: '*', sort_by: 'number:desc', per_page: 1 }]);
    const document = found?.hits[0]?.document;
    return document && { number: Number(document.number), token: String(document.token) };
  }

  async function make(): Promise<void> {
    if ((await server.collections()).has(collection)) return;
    const fields = [
      { name: 'number', type: 'int32' as const },
      { name: 'token', type: 'string' as const },
    ];
    await server.create({ name: collection, fields }).catch(async (error) => {
      if (!(await server.collections()).has(collection)) throw error;
    });
  }

  return {
    async read() {
      const found = await last();
      return found && { token: found.token, tag: String(found.number) };
    },
    async write(token, before) {
      await make();
      const number = Number(before?.tag ?? NONE) + 1;
      const [line] = await server.write(collection, 'create', [{ id: `token-${number}`, number, token }]);
      if (line !== 'ok') return false;
      // A writer that was slower than all kept tokens has a number that is free again, but lower than the last one.
      if ((await last())?.number !== number) return false;
      await server.deleteWhere(collection, `number:<${number - MAX_KEPT_TOKENS}`);
      return true;
    },
  };
}
