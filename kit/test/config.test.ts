import { describe, expect, test } from '@jest/globals';
import { defineSettings, flag, integer, readConfig, serversUrl, text } from '../src/config/index.js';

describe('a blank setting', () => {
  const of = <T>(parse: (value: string) => T, fallback: T) => ({ set: { variable: 'X', help: 'X', parse, fallback } });

  test.each([[''], [' '], ['\t\n']])('%j is not set, whatever its type', (X) => {
    expect(readConfig(of(integer(0, 9), 5), { X })).toEqual({ set: 5 });
    expect(readConfig(of(flag, true), { X })).toEqual({ set: true });
    expect(readConfig(of(text, 'a'), { X })).toEqual({ set: 'a' });
    const required = { set: { variable: 'X', help: 'X', parse: text } };
    expect(() => readConfig(required, { X })).toThrow('X is not set');
  });
});

test('a setting is read from the variable of its name, or from the one that it names', () => {
  const setting = { help: 'X', parse: integer(0, 9), fallback: 1 };
  const table = defineSettings({ s3Url: setting, runSteps: setting, other: { ...setting, variable: 'X' } });
  expect(Object.values(table).map(({ variable }) => variable)).toEqual([
    'COMMONPLACE_S3_URL',
    'COMMONPLACE_RUN_STEPS',
    'X',
  ]);
  expect(readConfig(table, { COMMONPLACE_RUN_STEPS: '2', X: '3' })).toEqual({ s3Url: 1, runSteps: 2, other: 3 });
});

describe('a URL of several servers', () => {
  const parse = serversUrl('mongodb', 'mongodb+srv');

  test.each([
    'mongodb://127.0.0.1:27017/?replicaSet=rs0',
    'mongodb://a.data:27017,b.data:27017,c.data:27017/?replicaSet=rs0',
    'mongodb://user:p%40ss@a:27017,b:27017/admin?tls=true',
    'mongodb+srv://user:secret@cluster.example.com',
  ])('%s is accepted unchanged', (url) => {
    expect(parse(url)).toBe(url);
  });

  test.each([
    'a:27017,b:27017',
    'nats://a:4222',
    'mongodb://a:27017,b:port/',
    'mongodb://',
    'mongodb:///?replicaSet=rs0',
    'mongodb://a,,b/',
  ])('%s is refused', (url) => {
    expect(() => parse(url)).toThrow('must be a URL with mongodb or mongodb+srv');
  });
});
