import { isPlainUrl, readConfig, text, url } from '@commonplace/kit/config';
import { describe, expect, test } from '@jest/globals';
import { processSettings } from '../src/runtime/index.js';

describe('a connection may be unencrypted', () => {
  test.each([
    'http://typesense:8108',
    'mongodb://user:p%40ss@a:27017,b:27017/?replicaSet=rs0',
    'mongodb://127.0.0.1:27017,b:27017/?replicaSet=rs0',
    'mongodb://a/?tls=false',
    'nats://nats:4222',
    'smtp://user:tls=true@mail:587',
    'HTTP://collector:4318/v1',
    'http://127.0.0.1.example.com/',
    'https://a:8108,http://b:8108',
    'http://localhost@evil.example/',
  ])('to %s', (one) => expect(isPlainUrl(one)).toBe(true));
});

describe('a connection is encrypted, or does not leave the machine', () => {
  test.each([
    'https://typesense:8108',
    'mongodb+srv://cluster.example.com/',
    'mongodb://a:27017,b:27017/?replicaSet=rs0&tls=true',
    'tls://nats:4222',
    'smtps://mail:465',
    'smtp://mail:587?requireTLS=true',
    'http://127.0.0.1:4318',
    'http://[::1]:4318',
    'nats://localhost:4222',
    'off',
  ])('to %s', (one) => expect(isPlainUrl(one)).toBe(false));
});

describe('COMMONPLACE_PLAIN_CONNECTIONS=refuse', () => {
  const table = {
    store: { variable: 'STORE', help: 'where records are', parse: url('http', 'https'), connects: true, secret: true },
    shown: { variable: 'SHOWN', help: 'what people see', parse: text },
  };
  const env = { STORE: 'http://user:secret@store:1', SHOWN: 'http://wiki:80' };

  test('refuses to start with a URL to connect to that is not encrypted, and reveals none of its secrets', () => {
    expect(readConfig(table, env)).toEqual({ store: env.STORE, shown: env.SHOWN });
    const refusing = { ...env, COMMONPLACE_PLAIN_CONNECTIONS: 'refuse' };
    expect(() => readConfig(table, refusing)).toThrow(
      'STORE must be encrypted, because COMMONPLACE_PLAIN_CONNECTIONS is refuse: where records are',
    );
    expect(readConfig(table, { ...refusing, STORE: 'https://store:1' }).store).toBe('https://store:1');
  });

  test('applies to MongoDB, NATS and the collector of every process', () => {
    const plain = {
      COMMONPLACE_PLAIN_CONNECTIONS: 'refuse',
      COMMONPLACE_MONGODB_URL: 'mongodb://mongo:27017',
      COMMONPLACE_NATS_URL: 'nats://nats:4222',
      COMMONPLACE_OTLP_URL: 'http://collector:4318',
    };
    const problems = (() => {
      try {
        readConfig(processSettings, plain);
      } catch (error) {
        return (error as { problems: readonly string[] }).problems.map((one) => one.split(' ')[0]);
      }
    })();
    expect(problems).toEqual(['COMMONPLACE_MONGODB_URL', 'COMMONPLACE_NATS_URL', 'COMMONPLACE_OTLP_URL']);
  });
});
