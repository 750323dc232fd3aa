import { describe, expect, test } from '@jest/globals';
import { serversUrl } from '../src/config/index.js';

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
