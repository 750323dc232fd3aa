import { expect, test } from '@jest/globals';
import {
  decodeCursor,
  EXACT_TOTAL,
  encodeCursor,
  pageInOrder,
  pageOf,
  pageOfAll,
  parsePageRequest,
  sortRecords,
  toPage,
  totalOf,
} from '../src/store/index.js';

test('a page returns where the list continues, by offset or by cursor as requested', () => {
  const all = ['a', 'b', 'c'].map((id) => ({ id, version: 1 }));
  const first = pageOf(parsePageRequest({ limit: 2, offset: 0, cursor: '' }), all, 3);
  expect(first.items.map(({ id }) => id)).toEqual(['a', 'b']);
  expect(first.page).toMatchObject({ limit: 2, offset: 0, total: 3, hasMore: true, nextOffset: 2 });
  const cursor = first.page.nextCursor ?? '';
  expect(decodeCursor(cursor)).toEqual(['b']);
  const byCursor = parsePageRequest({ limit: 1, offset: 0, cursor });
  expect(byCursor).toEqual({ limit: 1, offset: 0, after: ['b'] });
  expect(pageOf(byCursor, all.slice(1), 3).page).toMatchObject({ hasMore: true, nextOffset: undefined });
  const end = { hasMore: false, nextOffset: undefined, nextCursor: undefined };
  expect(pageOf(parsePageRequest(undefined), all, 3).page).toMatchObject({ limit: 50, ...end });
  expect(() => parsePageRequest({ limit: 1, offset: 0, cursor: 'nope' })).toThrow(/cursor/);
});

test('a total is exact up to a limit, and an estimate above', () => {
  const slice = { limit: 1, offset: 0 };
  expect(toPage(slice, totalOf(EXACT_TOTAL), undefined)).toMatchObject({ total: EXACT_TOTAL, totalIsEstimate: false });
  expect(toPage(slice, totalOf(EXACT_TOTAL + 1), undefined)).toMatchObject({
    total: EXACT_TOTAL,
    totalIsEstimate: true,
  });
});

test('a list in memory is paged as a store pages it', () => {
  const names = ['b', 'a', '😀', '\uFF5E', 'a'];
  expect(
    sortRecords(['ab', '😀', '😂', '\uFF5E', '', 'a', '😀a'].map((id) => ({ id, version: 1 }))).map(({ id }) => id),
  ).toEqual(['', 'a', 'ab', '\uFF5E', '😀', '😀a', '😂']);
  const all = names.map((name, at) => ({ id: `${at}`, version: 1, name }));
  const slice = { limit: 9, offset: 0 };
  const ids = (sort: ['name'] | ['-name']) => pageOfAll(slice, all, sort).items.map(({ id }) => id);
  expect(ids(['name'])).toEqual(['1', '4', '0', '3', '2']);
  expect(ids(['-name'])).toEqual(['2', '3', '0', '4', '1']);
  const behind = pageOfAll({ limit: 2, offset: 0, after: ['a', '2'] }, all, ['name']);
  expect(behind.items.map(({ id }) => id)).toEqual(['4', '0']);
  expect(pageOfAll({ limit: 2, offset: 0, after: ['😀', '9'] }, all, ['name']).items).toEqual([]);
  expect(() => pageOfAll({ limit: 2, offset: 0, after: ['x'] }, all, ['name'])).toThrow(/cursor/);
});

test('a list in memory that is sorted by a number is in numeric order', () => {
  const all = [10, 9, 100, -1].map((size, at) => ({ id: `${at}`, version: 1, size }));
  const sizes = (sort: ['size'] | ['-size'], after?: [number, string]) =>
    pageOfAll({ limit: 9, offset: 0, after }, all, sort).items.map(({ size }) => size);
  expect(sizes(['size'])).toEqual([-1, 9, 10, 100]);
  expect(sizes(['-size'])).toEqual([100, 10, 9, -1]);
  expect(sizes(['size'], [9, '1'])).toEqual([10, 100]);
});

test('a list that people put in order continues after the last item of a page, whatever was removed', () => {
  const all = [...'abcdefgh'].map((id) => ({ id }));
  const page = (items: typeof all, cursor = '', limit = 3) => pageInOrder({ limit, offset: 0, cursor }, items);
  const idsOf = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id).join('');
  const without = (...gone: string[]) => all.filter(({ id }) => !gone.includes(id));
  const first = page(all);
  expect(idsOf(first.items)).toBe('abc');
  expect(first.page).toMatchObject({ total: 8, hasMore: true, nextOffset: 3 });
  const cursor = first.page.nextCursor ?? '';
  expect(idsOf(page(all, cursor).items)).toBe('def');
  expect(idsOf(page(without('a', 'b'), cursor).items)).toBe('def');
  expect(idsOf(page(without('c', 'd'), cursor).items)).toBe('efg');
  // What is left may be repeated, and is not skipped.
  expect(idsOf(page(without('c', 'd', 'e', 'f'), cursor).items)).toBe('abg');
  expect(idsOf(page([], cursor).items)).toBe('');
  expect(page(all, cursor, 5)).toMatchObject({ items: { length: 5 }, page: { hasMore: false } });
  expect(() => page(all, encodeCursor(['a', 'b']))).toThrow(/cursor/);
  expect(() => page(all, encodeCursor([1]))).toThrow(/cursor/);
});
