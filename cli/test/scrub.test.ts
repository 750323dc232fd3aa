import { expect, test } from '@jest/globals';
import { createScrub } from '../src/scrub.js';

test('hides every secret from the settings, whole and in parts, at any depth', () => {
  const env = {
    COMMONPLACE_MONGODB_URL: 'mongodb://somebody:open%21sesame@db:27017/?replicaSet=rs',
    COMMONPLACE_SECRETS_KEY: 'the-new-one, the-old-one',
    COMMONPLACE_MESH_KEY: 'between us',
    AWS_SECRET_ACCESS_KEY: 'amazon',
    COMMONPLACE_PORT: '8080',
  };
  const scrub = createScrub(env, ['mistyped']);
  const message = {
    lines: ['authentication of somebody with open!sesame failed', { cause: 'open%21sesame', port: '8080', tries: 3 }],
    'the-old-one': ['the-new-one', null, 'between us: mistyped amazon'],
  };
  expect(scrub(message)).toEqual({
    lines: ['authentication of *** with *** failed', { cause: '***', port: '8080', tries: 3 }],
    '***': ['***', null, '***: *** ***'],
  });
});
