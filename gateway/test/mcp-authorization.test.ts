import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AuthStage, openAuthStage, signedIn } from './auth-stage.js';

let stage: AuthStage;
beforeAll(async () => {
  stage = await openAuthStage('http://127.0.0.1:8080');
});
afterAll(() => stage.close());

const CALLBACK = '/auth/mcp/callback?code=a%26b&state=s&iss=https%3A%2F%2Fissuer.example';

test('a person without a session signs in first, and returns to the same address', async () => {
  const answer = await stage.get(CALLBACK);
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe(`/auth/sign-in?next=${encodeURIComponent(CALLBACK)}`);
  expect(stage.authorizations).toEqual([]);
});

test('the response of the authorization server is passed on as the signed-in person', async () => {
  const { cookie } = await signedIn(stage);
  const answer = await stage.get(CALLBACK, { cookie });
  expect(answer.status).toBe(200);
  const html = await answer.text();
  expect(html).toContain('Helper &lt;b>');
  expect(html).toContain('tickets');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const given = { state: 's', code: 'a&b', iss: 'https://issuer.example', error: '', redirectKey: '' };
  expect(stage.authorizations).toEqual([{ ...given, token: expect.stringContaining('userId') }]);
});

test('the document of the client names the callback', async () => {
  const answer = await stage.get('/.well-known/oauth-client/mcp.json');
  const document = (await answer.json()) as Document;
  expect(answer.status).toBe(200);
  expect(new URL(document.client_id).pathname).toBe('/.well-known/oauth-client/mcp.json');
  expect(document.redirect_uris.map((url) => new URL(url).pathname)).toEqual(['/auth/mcp/callback']);
  expect(new URL(document.client_id).origin).toBe(new URL(document.redirect_uris[0] as string).origin);
});

test('an authorization server that does not name itself has a callback and a document of its own', async () => {
  const key = 'abcdefghijklmnopqrst-_';
  const { cookie } = await signedIn(stage);
  const answer = await stage.get(`/auth/mcp/callback/${key}?code=c&state=s`, { cookie });
  expect(answer.status).toBe(200);
  expect(stage.authorizations.at(-1)).toMatchObject({ state: 's', code: 'c', iss: '', redirectKey: key });
  const document = (await (await stage.get(`/.well-known/oauth-client/mcp/${key}.json`)).json()) as Document;
  expect(new URL(document.client_id).pathname).toBe(`/.well-known/oauth-client/mcp/${key}.json`);
  expect(document.redirect_uris.map((url) => new URL(url).pathname)).toEqual([`/auth/mcp/callback/${key}`]);
  expect((await stage.get('/.well-known/oauth-client/mcp/else.json')).status).toBe(404);
});

interface Document {
  readonly client_id: string;
  readonly redirect_uris: readonly string[];
}
