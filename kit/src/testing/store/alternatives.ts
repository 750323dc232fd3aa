import { expect } from '@jest/globals';
import { keyset, sortTerms } from '../../store/cursor.js';
import type { Condition, Scalar, Sort, Where } from '../../store/port.js';
import type { Duties } from '../suite/duties.js';
import { effort } from '../suite/effort.js';
import { type Bench, compareValues, type Draft, ids, type Thing } from './harness.js';

const TENANTS = ['t0', 't1', 't2', 't3'];
const KINDS = ['k0', 'k1', 'k2'];
/** An index has most of these orders for each value of some fields. */
const SORTS: readonly Sort<Thing>[] = [['rank'], ['-rank'], ['-rank'], ['name'], ['-name'], [], ['note']];

const COUNT = 300;

function drafts(): Draft[] {
  return Array.from({ length: COUNT }, (_, at) => ({
    id: `id-${(at * 7919) % COUNT}`,
    name: `name ${at % 40}`,
    rank: (at * 13) % 17,
    note: `note ${at % 5}`,
    kind: pick(KINDS, at),
    ...(at % 5 === 0 ? {} : { tenant: pick(TENANTS, at * 7 + (at % 3)) }),
    ...(at % 4 === 0 ? { active: at % 8 === 0 } : {}),
    ...(at % 6 === 0 ? { amount: (at % 9) / 7 } : {}),
    tags: [`tag-${at % 3}`, `tag-${at % 100}`],
  }));
}

export function alternativeDuties(duty: Duties, use: () => Bench): void {
  duty('alternatives find the same records as a test of each, in order, page by page', async () => {
    const { fill, things } = use();
    const all = await things();
    const records = await fill(all, drafts());
    const random = createRandom(7);
    for (let round = 0; round < effort(80); round++) {
      const sort = pick(SORTS, random(SORTS.length));
      const where = randomFilter(random, 2, sort);
      const [limit, offset] = [1 + random(30), random(3) === 0 ? random(40) : 0];
      const wanted = ids(
        sorted(
          records.filter((record) => matches(record, where)),
          sort,
        ),
      );
      const asked = JSON.stringify({ where, sort, limit, offset });
      const { found, count } = await all.findAndCount({ where, sort, limit, offset }, 1001);
      expect([asked, ids(found)]).toEqual([asked, wanted.slice(offset, offset + limit)]);
      expect([asked, count]).toEqual([asked, Math.min(wanted.length, 1001)]);
      const last = found.at(-1);
      if (last === undefined) continue;
      const next = await all.find({ where, sort, limit: 50, after: keyset(last, sort) });
      expect([asked, ids(next)]).toEqual([asked, wanted.slice(offset + found.length, offset + found.length + 50)]);
    }
  });
}

type Random = (below: number) => number;

/** Returns a generator of numbers that are the same in each run. */
function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % below;
  };
}

const pick = <T>(from: readonly T[], at: number): T => from[at % from.length] as T;

/** Returns some alternatives, often beside other conditions; their nesting is up to `depth`. */
function randomFilter(random: Random, depth: number, sort: Sort<Thing>): Where<Thing> {
  const or = Array.from({ length: 1 + random(4) }, () => {
    const arm = { ...(random(8) > 0 && placed(random, sort)), ...randomConditions(random, random(2)) };
    return depth > 0 && random(4) === 0 ? { ...arm, ...randomFilter(random, depth - 1, sort) } : arm;
  });
  const other = random(5) === 0 ? { and: [randomFilter(random, 0, sort)] } : {};
  return { ...randomConditions(random, random(4) === 0 ? 1 : 0), or, ...other };
}

/** Returns conditions on the fields before those of an order in an index. */
function placed(random: Random, sort: Sort<Thing>): Where<Thing> {
  const ofKind = pick(CONDITIONS, 3 + random(3))(random);
  return String(sort).includes('rank') ? { ...pick(CONDITIONS, random(3))(random), ...ofKind } : ofKind;
}

function randomConditions(random: Random, count: number): Where<Thing> {
  return Object.assign({}, ...Array.from({ length: count }, () => pick(CONDITIONS, random(CONDITIONS.length))(random)));
}

const some = (random: Random, from: readonly string[]) => from.filter(() => random(2) === 0);

/** First those on a tenant, then those on a kind. */
const CONDITIONS: readonly ((random: Random) => Where<Thing>)[] = [
  (random) => ({ tenant: pick(TENANTS, random(4)) }),
  (random) => ({ tenant: { in: [...some(random, TENANTS), 'none'] } }),
  () => ({ tenant: { exists: false } }),
  (random) => ({ kind: pick(KINDS, random(3)) }),
  (random) => ({ kind: { in: some(random, KINDS) } }),
  (random) => ({ kind: { in: [...KINDS, ...Array.from({ length: 70 }, (_, n) => `no ${n}`)], not: `k${random(3)}` } }),
  (random) => ({ rank: { gt: random(10) } }),
  (random) => ({ name: { gte: 'name 2', lt: `name ${3 + random(6)}` } }),
  (random) => ({ name: `name ${random(40)}` }),
  (random) => ({ name: { in: [`name ${random(40)}`, `name ${random(40)}`] } }),
  (random) => ({ active: random(2) === 0 }),
  () => ({ active: { exists: false } }),
  (random) => ({ amount: { in: [random(9) / 7, random(9) / 7] } }),
  (random) => ({ note: { not: `note ${random(5)}` } }),
  (random) => ({ note: { substring: ` ${random(5)}` } }),
  (random) => ({ tags: { contains: `tag-${random(9)}` } }),
  (random) => ({ tags: { containsAny: [`tag-${random(99)}`, `tag-${random(99)}`] } }),
  (random) => ({ id: { in: Array.from({ length: 9 }, () => `id-${random(COUNT)}`) } }),
];

/** Tests a record as the conditions are defined. */
function matches(record: Thing, where: Where<Thing>): boolean {
  return Object.entries(where).every(([name, entry]) => {
    if (name === 'and') return (entry as Where<Thing>[]).every((one) => matches(record, one));
    if (name === 'or') return (entry as Where<Thing>[]).some((one) => matches(record, one));
    const value = (record as unknown as Record<string, unknown>)[name];
    if (typeof entry !== 'object') return value === entry;
    return Object.entries(entry).every(([op, operand]) => TESTS[op as keyof Condition]?.(value, operand as never));
  });
}

const isText = (value: unknown): value is string => typeof value === 'string';
const compares = (test: (order: number) => boolean) => (value: unknown, operand: never) =>
  typeof value === typeof operand && test(compareValues(value, operand));

const TESTS: { readonly [Name in keyof Condition]?: (value: unknown, operand: never) => boolean } = {
  in: (value, operand: readonly Scalar[]) => operand.includes(value as Scalar),
  gt: compares((order) => order > 0),
  gte: compares((order) => order >= 0),
  lt: compares((order) => order < 0),
  substring: (value, operand: string) => isText(value) && value.includes(operand),
  contains: (value, operand: Scalar) => Array.isArray(value) && value.includes(operand),
  containsAny: (value, operand: readonly Scalar[]) =>
    Array.isArray(value) && value.some((one) => operand.includes(one as Scalar)),
  exists: (value, operand: boolean) => (value !== undefined && value !== null) === operand,
  not: (value, operand: Scalar) => value !== undefined && value !== null && value !== operand,
};

function sorted(records: readonly Thing[], sort: Sort<Thing>): Thing[] {
  const terms = sortTerms(sort);
  return [...records].sort((a, b) => {
    for (const { field, descending } of terms) {
      const order = compareValues(a[field as keyof Thing], b[field as keyof Thing]);
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  });
}
