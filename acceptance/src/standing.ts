import { newKey, signUp } from './people.js';
import { mode, type Settings, type System } from './system.js';

/** Where the process that runs all tests answers for the system that stands for them; it sets this. */
export const STANDING_URL = 'COMMONPLACE_TEST_STANDING';

/** The limits that no test of a standing system may run into; everything else is as a test's own would be. */
export const STANDING_SETTINGS: Settings = {
  COMMONPLACE_SIGN_UP: 'open',
  COMMONPLACE_IMPORTS_WAITING: '10000',
  COMMONPLACE_KEYS_PER_PERSON: '1000',
  COMMONPLACE_KEYS_PER_ORG: '1000',
  COMMONPLACE_ACCESS_REQUESTS_PER_HOUR: '10000',
};

/**
 * A system that other tests use too, also at the same time, started when the first one asks. Its `owner` is somebody
 * new, of whom nobody else knows: tests with settings of their own, or that end processes, start one by `startSystem`.
 */
export async function standingSystem(): Promise<System> {
  const from = process.env[STANDING_URL];
  if (from === undefined) throw new Error(`${STANDING_URL} is not set: run the tests by the project's configuration`);
  const ask = async (path: string) => {
    const answer = await fetch(`${from}${path}`);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.text();
  };
  const place = { baseUrl: await ask('/url') };
  const owner = await signUp(place, 'Owner');
  const { scopes } = (await owner.get<{ scopes: string[] }>('/capabilities')).data;
  const { key: apiKey } = await newKey(owner, scopes);
  return {
    ...place,
    mode,
    owner: { email: owner.user.email, password: owner.password, apiKey },
    said: () => ask('/said'),
  };
}
