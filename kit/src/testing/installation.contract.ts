import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import { newId } from '../id/index.js';
import type { HeldToken, IdentifiedStore } from '../installation/index.js';
import { createDuties } from './suite/duties.js';

export interface InstallationHarness {
  /** Opens the store once more, as another process does. */
  open(): Promise<IdentifiedStore>;
  /** Whether several databases can reach the store, so that it must distinguish copies of one. */
  readonly isShared?: boolean;
  /** Adds data of an installation to the store, apart from its id. */
  fill(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Tests a store with an installation id for each duty of `installation/port.ts`. Each harness starts with an empty
 * store.
 */
export function installationContract(name: string, openHarness: () => Promise<InstallationHarness>): void {
  describe(`the installation of ${name}`, () => {
    let harness: InstallationHarness;
    const opened: IdentifiedStore[] = [];
    const open = async (): Promise<IdentifiedStore> => {
      const store = await harness.open();
      opened.push(store);
      return store;
    };
    beforeEach(async () => {
      harness = await openHarness();
    });
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
      await harness.close();
    });
    const duty = createDuties({});

    duty('has no id and is empty until it is claimed', async () => {
      const store = await open();
      expect([await store.readId(), await store.isEmpty()]).toEqual([undefined, true]);
      expect(store.place).not.toMatch(/:[^/]*@/);
    });

    duty('keeps the id that it was claimed with, and is still empty', async () => {
      const id = newId();
      expect(await (await open()).claim(id)).toBe(id);
      const again = await open();
      expect([await again.readId(), await again.isEmpty()]).toEqual([id, true]);
    });

    duty('is not empty once something is stored in it, claimed or not', async () => {
      await harness.fill();
      const store = await open();
      expect([await store.readId(), await store.isEmpty()]).toEqual([undefined, false]);
      await store.claim(newId());
      expect(await store.isEmpty()).toBe(false);
    });

    duty('gives a second claim the id of the first', async () => {
      const [first, second] = [newId(), newId()];
      await (await open()).claim(first);
      expect(await (await open()).claim(second)).toBe(first);
      expect(await (await open()).readId()).toBe(first);
    });

    duty('gives several concurrent claims the same id', async () => {
      const stores = await Promise.all(Array.from({ length: 5 }, open));
      const ids = stores.map(() => newId());
      const claimed = new Set(await Promise.all(stores.map((store, i) => store.claim(ids[i] as string))));
      expect(claimed.size).toBe(1);
      expect(ids).toContain([...claimed][0]);
      expect(await (await open()).readId()).toBe([...claimed][0]);
    });

    duty('changes its id only for a claim with replace', async () => {
      const [first, second] = [newId(), newId()];
      await (await open()).claim(first);
      expect(await (await open()).claim(second, true)).toBe(second);
      expect(await (await open()).readId()).toBe(second);
    });

    duty('is held by one of several that write over the same value, and stays empty', async () => {
      const { hold } = await open();
      expect(hold !== undefined || harness.isShared !== true).toBe(true);
      // If only one process can access the store, there is nothing to hold.
      if (hold === undefined) return;
      expect(await hold.read()).toBeUndefined();
      const others = await Promise.all(Array.from({ length: 4 }, open));
      const write = async (before: HeldToken | undefined): Promise<string[]> => {
        const tokens = others.map(() => newId());
        const won = await Promise.all(others.map((other, i) => other.hold?.write(tokens[i] as string, before)));
        return tokens.filter((_, i) => won[i] === true);
      };
      const [first, ...more] = await write(undefined);
      const found = await hold.read();
      expect([more, found?.token]).toEqual([[], first]);
      const second = await write(found);
      expect([second.length, (await hold.read())?.token]).toEqual([1, second[0]]);
      expect(await hold.write(newId(), found)).toBe(false);
      expect(await (await open()).isEmpty()).toBe(true);
    });
    duty.finish();
  });
}
