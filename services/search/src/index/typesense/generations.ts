import { IndexFailure } from '../port.js';
import { MissingCollection, type Server } from './client.js';
import { createdAt, isIncomplete, type Names, type Naming, namesOf } from './names.js';
import { entriesSchema, locksSchema, modelsSchema, wordsSchema } from './schema.js';

/**
 * Manages the indexes of an installation: the one that answers and, during a rebuild, the one that is being filled.
 * Typesense's aliases name them, so that all replicas of the service know.
 */
export interface Generations {
  /** Creates what is missing: an empty, incomplete index if there is none of this version. */
  ready(): Promise<void>;
  /** Returns the collection of entries that answers; its name shows whether it is complete. */
  current(): Promise<string>;
  /** Returns whether the index that answers contains everything. */
  isComplete(): Promise<boolean>;
  /** Returns the same without a request, if the index was complete when this process last looked. */
  recallComplete(): Promise<boolean>;
  /** Calls `work` for the index that answers and the one that is being filled, and for those that appear meanwhile. */
  onEach(work: (names: Names, filling: boolean) => Promise<void>): Promise<void>;
  /** Creates an index for a rebuild, which gets all changes from now on. */
  begin(): Promise<Names>;
  /** Makes an index the one that answers; all others are deleted. */
  switchTo(names: Names): Promise<void>;
  drop(names: Names): Promise<void>;
}

/** Milliseconds that the index of another version is kept, because its replicas may still be running. */
const OTHER_VERSION_TTL_MS = 3_600_000;

export function createGenerations(server: Server, naming: Naming): Generations {
  let made: Promise<void> | undefined;
  let complete = false;

  /** Returns the error for an index that is gone, as after the loss of a server; the next call creates it again. */
  function deleted(): IndexFailure {
    made = undefined;
    complete = false;
    return new IndexFailure('the index was deleted');
  }

  async function listed(): Promise<{ current: string | undefined; next: string | undefined }> {
    const aliases = await server.aliases();
    return { current: aliases.get(naming.current.entries), next: aliases.get(naming.next) };
  }

  async function create(incomplete: boolean): Promise<Names> {
    const names = namesOf(naming.generation(incomplete));
    await server.create(wordsSchema(names.words));
    await server.create(entriesSchema(names.entries));
    return names;
  }

  async function point(names: Names): Promise<void> {
    await server.point(naming.current.words, names.words);
    await server.point(naming.current.entries, names.entries);
  }

  async function make(): Promise<void> {
    const there = await server.collections();
    for (const schema of [modelsSchema(naming.models), locksSchema(naming.locks)]) {
      if (!there.has(schema.name)) await server.create(schema).catch(ignoreExisting);
    }
    const { current } = await listed();
    if (current === undefined || !there.has(current)) await point(await create(true));
    else if (createdAt(current) < Date.now() - OTHER_VERSION_TTL_MS) await dropAllBut([current, (await listed()).next]);
  }

  async function dropAllBut(kept: readonly (string | undefined)[]): Promise<void> {
    const names = new Set(kept.flatMap((entries) => (entries === undefined ? [] : Object.values(namesOf(entries)))));
    for (const name of (await server.collections()).keys()) {
      if (naming.isGeneration(name) && !names.has(name)) await server.drop(name);
    }
  }

  const generations: Generations = {
    ready() {
      made ??= make().catch((error) => {
        made = undefined;
        throw error;
      });
      return made;
    },
    async current() {
      await generations.ready();
      const { current } = await listed();
      if (current === undefined) throw deleted();
      return current;
    },
    async isComplete() {
      complete = !isIncomplete(await generations.current());
      return complete;
    },
    recallComplete: async () => complete || generations.isComplete(),
    async onEach(work) {
      const done = new Set<string>();
      const missing = new Set<string>();
      for (;;) {
        const current = await generations.current();
        const { next } = await listed();
        if (missing.has(current)) throw deleted();
        const todo = [current, next].filter((name) => name !== undefined && !done.has(name)) as string[];
        if (todo.length === 0) return;
        for (const name of todo) {
          done.add(name);
          await work(namesOf(name), name !== current).catch((error) => {
            // Another replica has ended a rebuild; the index that answers now is handled in the next round.
            if (!(error instanceof MissingCollection)) throw error;
            missing.add(name);
          });
        }
      }
    },
    async begin() {
      await generations.ready();
      const { next } = await listed();
      if (next !== undefined) await generations.drop(namesOf(next));
      const names = await create(false);
      await server.point(naming.next, names.entries);
      return names;
    },
    async switchTo(names) {
      const old = await generations.current();
      await point(names);
      await server.unpoint(naming.next);
      await generations.drop(namesOf(old));
      const stamp = naming.current.entries;
      for (const name of (await server.collections()).keys()) {
        const orphan = name.startsWith(`${stamp}-g`) && !Object.values(names).includes(name);
        if (orphan) await server.drop(name);
      }
    },
    async drop(names) {
      if ((await listed()).next === names.entries) await server.unpoint(naming.next);
      await server.drop(names.entries);
      await server.drop(names.words);
    },
  };
  return generations;
}

/** Ignores that another replica has created the collection. */
function ignoreExisting(error: unknown): void {
  if (!/already exists/i.test(String((error as Error).message))) throw error;
}
