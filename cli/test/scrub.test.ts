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
    lines: ['authentication of somebody with *** failed', { cause: '***', port: '8080', tries: 3 }],
    '***': ['***', null, '***: *** ***'],
  });
});

test('hides a token that a URL has instead of a user and password', () => {
  const scrub = createScrub({ COMMONPLACE_NATS_URL: 'nats://s3same@nats:4222,nats://me:second@other:4222' });
  expect(scrub('s3same, second and nats://me:second@other:4222 are refused')).toBe('***, *** and *** are refused');
});

test('keeps user names, which are often words that results contain', () => {
  const scrub = createScrub({ COMMONPLACE_MONGODB_URL: 'mongodb://commonplace:opensesame@db:27017/?replicaSet=rs' });
  expect(scrub({ type: 'commonplace.resources.resource.created' })).toEqual({
    type: 'commonplace.resources.resource.created',
  });
});
