import { newAddress, newKey, type Person, signIn, signUp, tokenOf } from './people.js';
import type { Member, Org } from './records.js';
import { mode, type Owner, type Settings, type System } from './system.js';

/** Environment variable with the URL of the server for shared systems. The process that runs all tests sets it. */
export const STANDING_URL = 'COMMONPLACE_TEST_STANDING';

/** A loopback address that the operator of the system `meaning` has allowed. */
export const LISTED_HOST = '127.0.0.2';
/** Host of uploaded content in the `tight` system. */
export const CONTENT_HOST = 'bytes.example';

/** Systems that several suites share, with their settings in addition to the defaults of tests. */
export const STANDING = {
  /** Sign-up is open. Only the limits of files and images are low enough for tests to reach them. */
  open: {
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_IMPORTS_WAITING: '10000',
    COMMONPLACE_KEYS_PER_PERSON: '1000',
    COMMONPLACE_KEYS_PER_ORG: '1000',
    COMMONPLACE_ACCESS_REQUESTS_PER_HOUR: '10000',
    COMMONPLACE_URL_ALLOWLIST: 'localhost',
    COMMONPLACE_SINGLE_UPLOAD_BYTES: String(6 * 2 ** 20),
    COMMONPLACE_UPLOAD_PART_BYTES: String(5 * 2 ** 20),
    COMMONPLACE_FILE_BYTES: String(64 * 2 ** 20),
    COMMONPLACE_IMPORT_IMAGE_BYTES: '100000',
    COMMONPLACE_IMPORT_IMAGES: '14',
  },
  /** Sign-up requires an invitation. Limits are low enough for tests to reach them. */
  tight: {
    COMMONPLACE_SIGN_UP: 'invite',
    COMMONPLACE_INLINE_TAGGED: '5',
    COMMONPLACE_CONTENT_URL: `http://${CONTENT_HOST}`,
    COMMONPLACE_STORAGE_QUOTA_BYTES: '1000',
    COMMONPLACE_FILE_VERSIONS: '2',
    COMMONPLACE_RATE_LIMITS: [
      ...['default', 'write', 'search', 'ai', 'form', 'auth', 'concurrent'].map((policy) => `${policy}=off`),
      ...['upload=40', 'visitor=2', 'hook=2', 'reader=2'],
    ].join(),
  },
  /** Semantic search has a model, and a loopback address may be called. */
  meaning: {
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_EMBEDDINGS: 'local',
    COMMONPLACE_URL_ALLOWLIST: LISTED_HOST,
  },
  /** No settings. Commands of the operator run next to it. */
  plain: {},
} satisfies Record<string, Settings>;

export type StandingName = keyof typeof STANDING;

/** Facts about a shared system. */
export interface Place {
  readonly baseUrl: string;
  readonly owner: Owner;
  readonly places: NodeJS.ProcessEnv;
}

/** A system that other tests use concurrently. */
export interface StandingSystem extends System {
  /** Ends the use by the caller. The system ends when all users have left, and starts again for the next one. */
  stop(): Promise<void>;
}

async function ask(path: string): Promise<string> {
  const from = process.env[STANDING_URL];
  if (from === undefined) throw new Error(`${STANDING_URL} is not set: run the tests with the project's configuration`);
  const answer = await fetch(`${from}${path}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.text();
}

/**
 * Returns a system that other tests use too, even concurrently. It starts for its first user. Its `owner` is a new
 * account that other tests do not know. Tests with their own settings, or that end processes, use `startSystem`.
 */
export async function standingSystem(name: Exclude<StandingName, 'plain'> = 'open'): Promise<StandingSystem> {
  const { baseUrl, owner: first } = JSON.parse(await ask(`/${name}`)) as Place;
  const owner = name === 'tight' ? await invite({ baseUrl }, first) : await signUp({ baseUrl }, 'Owner');
  const { scopes } = (await owner.get<{ scopes: string[] }>('/capabilities')).data;
  const { key: apiKey } = await newKey(owner, scopes);
  return {
    baseUrl,
    mode,
    owner: { email: owner.user.email, password: owner.password, apiKey },
    said: () => ask(`/${name}/said`),
    stop: async () => void (await ask(`/${name}/left`)),
  };
}

/**
 * Returns a shared system with its first owner and the settings for commands that run next to it, as its operator has
 * them.
 */
export async function operatedSystem(): Promise<Place & Pick<StandingSystem, 'stop'>> {
  const place = JSON.parse(await ask('/plain')) as Place;
  return { ...place, stop: async () => void (await ask('/plain/left')) };
}

/** Returns a new person who was invited to an Org and is no longer a member of it. */
async function invite(place: Pick<System, 'baseUrl'>, first: Owner): Promise<Person> {
  const host = await signIn(place, first);
  const { data: org } = await host.post<Org>('/orgs', { name: 'Welcome' });
  const email = newAddress('owner');
  const { data: member } = await host.post<Member>(`/orgs/${org.id}/members`, { email, role: 'guest' });
  const owner = await signUp(place, 'Owner', { email, invitation: tokenOf(member.invite_url) });
  await host.del(`/orgs/${org.id}/members/${member.id}`);
  return owner;
}
