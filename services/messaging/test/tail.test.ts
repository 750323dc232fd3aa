import type { Collection } from '@commonplace/kit/store';
import { expect, test } from '@jest/globals';
import type { StreamEvent } from '../src/events/records.js';
import { Tail, type TailReader } from '../src/events/tail.js';

const TENANT = 'org_1';

/** The log of several processes, with the tail of one of them. Its queries wait until `deliver` is called. */
function setUp() {
  const stored: StreamEvent[] = [];
  let deliver = () => {};
  const delivered = new Promise<void>((resolve) => {
    deliver = resolve;
  });
  let head = 0;
  const find = async ({ where }: { where: { seq: { gt: number } } }) => {
    await delivered;
    return stored.filter(({ seq }) => seq > where.seq.gt);
  };
  const tail = new Tail({
    log: { warn: () => {} } as never,
    bus: { listen: async () => ({ close: async () => {} }) } as never,
    streamEvents: { find } as unknown as Collection<StreamEvent>,
    eventLog: { head: async () => ({ seq: head }) as never },
  });
  const append = (count: number) => {
    for (let i = 0; i < count; i++) stored.push({ tenant: TENANT, seq: ++head } as StreamEvent);
  };
  return { tail, append, deliver };
}

function reader(): TailReader & { readonly seqs: number[] } {
  const seqs: number[] = [];
  return { tenants: new Set([TENANT]), seqs, push: ({ seq }) => void seqs.push(seq) };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test('a reader that has read further at another process joins where it was, and gets only what follows', async () => {
  const { tail, append, deliver } = setUp();
  const [early, moved] = [reader(), reader()];
  append(1);
  expect(await tail.join(early)).toBe(1);
  append(2);
  expect(await tail.join(moved, 3)).toBe(3);
  append(1);
  deliver();
  await until(() => early.seqs.length === 3);
  expect(early.seqs).toEqual([2, 3, 4]);
  expect(moved.seqs).toEqual([4]);
  await tail.close();
});

test('a reader that names a position beyond the log joins at its end', async () => {
  const { tail, append, deliver } = setUp();
  append(1);
  await tail.join(reader());
  append(2);
  expect(await tail.join(reader(), 9)).toBe(3);
  deliver();
  await tail.close();
});
