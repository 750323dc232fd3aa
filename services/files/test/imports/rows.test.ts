import { expect, test } from '@jest/globals';
import { splitJson } from '../../src/imports/thread/rows.js';

const read = (bytes: Buffer) => JSON.parse(bytes.toString()) as Record<string, unknown>;

test('keeps rows together that fit into one call', () => {
  for (const json of [{ type: 'doc' }, [1], { archive: { refs: [], snapshots: [] }, rows: [['a']] }, null]) {
    const { first, further } = splitJson(json);
    expect([JSON.parse(first.toString()), further]).toEqual([json, undefined]);
  }
});

test('sends further rows with their offset, people and links', () => {
  const rows = Array.from({ length: 25_000 }, (_, i) => ({ id: `r${i}`, cells: { a: i } }));
  const json = { archive: { refs: [1], created_at: 'x' }, columns: ['c'], people: ['p'], rows };
  const { first, further } = splitJson(json);
  const pieces = [...(further?.() ?? [])];
  expect(first.toString().startsWith('{"archive":')).toBe(true);
  expect(pieces.map(({ rowsFrom, keptStates }) => [rowsFrom, keptStates])).toEqual([
    [10_000, false],
    [20_000, false],
  ]);
  const [second, third] = pieces.map(({ contentJson }) => read(contentJson));
  expect(second).toEqual({ archive: { refs: [1] }, columns: ['c'], people: ['p'], rows: rows.slice(10_000, 20_000) });
  expect(third?.rows).toEqual(rows.slice(20_000));
});

test('sends snapshots after their resources, as many per call as fit', () => {
  const state = (name: string) => ({ name, content: { text: 'x'.repeat(1024 * 1024) } });
  const snapshots = ['a', 'b', 'c', 'd', 'e'].map(state);
  const json = { archive: { refs: [1], snapshots, created_at: 'x' }, rows: Array.from({ length: 10_001 }, () => []) };
  const { first, further } = splitJson(json);
  expect(read(first).archive).toEqual({ refs: [1], snapshots: [], created_at: 'x' });
  const pieces = [...(further?.() ?? [])];
  expect(pieces.map(({ rowsFrom, keptStates }) => [rowsFrom, keptStates])).toEqual([
    [10_000, false],
    [0, true],
    [0, true],
    [0, true],
  ]);
  const archives = pieces.slice(1).map(({ contentJson }) => read(contentJson).archive as { snapshots: unknown[] });
  expect(archives[0]).toMatchObject({ refs: [1] });
  expect(archives.flatMap((one) => one.snapshots)).toEqual(snapshots);
  for (const { contentJson } of pieces) expect(contentJson.length).toBeLessThan(4 * 1024 * 1024);
});
