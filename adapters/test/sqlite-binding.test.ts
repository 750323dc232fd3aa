import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Connection, openConnection, type Param } from '../src/sqlite/file/index.js';

let folder: string;
let connection: Connection;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'commonplace-binding-'));
  connection = openConnection(join(folder, 'a.db'));
});

afterEach(() => {
  connection.close();
  rmSync(folder, { recursive: true });
});

const untyped = (value: unknown): Param => value as Param;

describe('the binding layer', () => {
  test('opens files durable and without trust in their schema', () => {
    const pragma = (name: string) => connection.get(`PRAGMA ${name}`)?.[0];
    expect(pragma('journal_mode')).toBe('wal');
    expect(pragma('synchronous')).toBe(2);
    expect(pragma('busy_timeout')).toBe(5000);
    expect(pragma('trusted_schema')).toBe(0);
  });

  test("keeps a file, and the driver's files beside it, private, also one that others could read before", () => {
    const modes = () => readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]);
    const closed = [
      ['a.db', 0o600],
      ['a.db-shm', 0o600],
      ['a.db-wal', 0o600],
    ];
    connection.exec('CREATE TABLE t (a)');
    expect(modes()).toEqual(closed);
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
    const again = openConnection(join(folder, 'a.db'));
    expect(modes()).toEqual(closed);
    again.close();
  });

  test('refuses what would end the process', () => {
    for (const value of [true, false, undefined, {}, [], () => 1, Symbol('s'), 1n]) {
      expect(() => connection.get('SELECT ?', [untyped(value)])).toThrow(TypeError);
    }
  });

  test('accepts a lone buffer', () => {
    expect(connection.get('SELECT typeof(?)', [Buffer.from([1, 2])])).toEqual(['blob']);
    expect(connection.get('SELECT ?', [Buffer.from([0, 255])])?.[0]).toEqual(Buffer.from([0, 255]));
  });

  test('binds whole numbers as INTEGER, fractions as REAL, and no others', () => {
    const type = (value: number) => connection.get('SELECT typeof(?)', [value])?.[0];
    expect([type(1), type(-0), type(2 ** 53 - 1), type(1.5), type(2 ** 60)]).toEqual([
      'integer',
      'integer',
      'integer',
      'real',
      'real',
    ]);
    for (const value of [Number.NaN, Infinity, -Infinity]) {
      expect(() => connection.get('SELECT ?', [value])).toThrow(TypeError);
    }
  });

  test('refuses NUL in a text as INVALID_ARGUMENT', () => {
    expect(() => connection.get('SELECT ?', ['a\0b'])).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', reason: 'invalid_value' }),
    );
  });

  test('refuses too few and too many parameters', () => {
    expect(() => connection.get('SELECT ?, ?', ['a'])).toThrow('1 parameters for 2 placeholders');
    expect(() => connection.get('SELECT ?', ['a', 'b'])).toThrow('2 parameters for 1 placeholders');
    expect(() => connection.get('SELECT 1', ['a'])).toThrow('1 parameters for 0 placeholders');
    expect(connection.get(`SELECT '?', "'?" FROM (SELECT ? AS "'?")`, ['a'])).toEqual(['?', 'a']);
  });

  test('refuses placeholders that it cannot count', () => {
    for (const sql of ['SELECT ?1', 'SELECT :a', 'SELECT @a', 'SELECT $a']) {
      expect(() => connection.get(sql, ['x'])).toThrow(TypeError);
    }
  });

  test('returns rows without anything added', () => {
    expect(connection.get('SELECT 1 AS a, NULL AS b')).toEqual([1, null]);
    expect(connection.get('SELECT 1 WHERE 0')).toBeUndefined();
    expect(connection.all('SELECT value FROM json_each(?)', ['[1,"a"]'])).toEqual([[1], ['a']]);
  });

  test('returns a row if the same statement returned an empty list just before', () => {
    connection.exec('CREATE TABLE t (a INTEGER PRIMARY KEY)');
    connection.run('INSERT INTO t VALUES (1)');
    const sql = 'SELECT a FROM t WHERE a < ? ORDER BY a LIMIT ?';
    expect(connection.all(sql, [1, 7])).toEqual([]);
    expect(connection.get(sql, [2, 1])).toEqual([1]);
    expect(connection.all(sql, [1, 7])).toEqual([]);
    expect(connection.all(sql, [2, 7])).toEqual([[1]]);
  });

  test('leaves no statement running that would hold an old snapshot', () => {
    const reader = openConnection(join(folder, 'a.db'), { readOnly: true });
    connection.exec('CREATE TABLE t (a)');
    const insert = (): number => connection.run('INSERT INTO t VALUES (?)', [1]);
    insert();
    insert();
    reader.get('SELECT a FROM t');
    reader.all('SELECT a FROM t');
    reader.all('EXPLAIN QUERY PLAN SELECT a FROM t ORDER BY a');
    expect(() => reader.run('SELECT a FROM t')).toThrow(TypeError);
    for (const count of [3, 4, 5]) {
      insert();
      expect(reader.get('SELECT count(*) FROM t')).toEqual([count]);
    }
    expect(() => reader.run('DELETE FROM t')).toThrow('readonly');
    reader.close();
  });

  test('keeps working when more statements are used than are cached', () => {
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 600; n++) expect(connection.get(`SELECT ${n} + ?`, [1])).toEqual([n + 1]);
    }
  });
});
