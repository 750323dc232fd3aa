import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AuthStage, openAuthStage, signedIn } from './auth-stage.js';

let stage: AuthStage;
beforeAll(async () => {
  stage = await openAuthStage('http://127.0.0.1:8080');
});
afterAll(() => stage.close());

const CALLBACK = '/auth/connectors/callback?code=a%26b&state=s';

test('a person without a session signs in first, and returns with the same parameters', async () => {
  const answer = await stage.get(CALLBACK);
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe(`/auth/sign-in?next=${encodeURIComponent(CALLBACK)}`);
  expect(stage.completions).toEqual([]);
});

test('a signed-in person is connected, by their own session and no other', async () => {
  const { cookie } = await signedIn(stage);
  stage.completion.accountLabel = '<b>ada</b>';
  const answer = await stage.get(CALLBACK, { cookie });
  const html = await answer.text();
  expect(answer.status).toBe(200);
  expect(html).toContain('<strong>Drive</strong> is connected as <strong>&lt;b>ada&lt;/b></strong>');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(stage.completions).toEqual([{ query: 'code=a%26b&state=s', token: expect.stringContaining('userId') }]);
});

test.each([
  ['access_denied', 'The access was not given. Nothing is connected.'],
  ['invalid_grant', 'The other system did not give access (invalid_grant). Begin again.'],
])('%s is shown', async (error, words) => {
  const { cookie } = await signedIn(stage);
  Object.assign(stage.completion, { connectionId: undefined, error });
  const answer = await stage.get(CALLBACK, { cookie });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain(words);
});
