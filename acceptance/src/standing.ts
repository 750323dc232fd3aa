import { newAddress, newKey, type Person, signIn, signUp, tokenOf } from './people.js';
import type { Member, Org } from './records.js';
import { mode, type Owner, type Settings, type System } from './system.js';

/** Where the process that runs all tests answers for the systems that stand for them; it sets this. */
export const STANDING_URL = 'COMMONPLACE_TEST_STANDING';

/** An address of this machine that the operator of the system with a model has listed. */
export const LISTED_HOST = '127.0.0.2';
/** The origin of users' bytes in a tight system. */
export const CONTENT_HOST = 'bytes.example';

/** Systems that several suites use, by what they are told beside what a test's own would be. */
export const STANDING = {
  /** Open to everybody, with limits that no test runs into but those of files and pictures. */
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
  /** For those who are invited, with limits that tests run into. */
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
  /** With a model that finds by meaning, and an address of this machine that may be called. */
  meaning: {
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_EMBEDDINGS: 'local',
    COMMONPLACE_URL_ALLOWLIST: LISTED_HOST,
  },
  /** As it is without settings, beside which commands run. */
  plain: {},
} satisfies Record<string, Settings>;

export type StandingName = keyof typeof STANDING;

/** What is told of a standing system. */
export interface Place {
  readonly baseUrl: string;
  readonly owner: Owner;
  readonly places: NodeJS.ProcessEnv;
}

/** A system that other tests use too. */
export interface StandingSystem extends System {
  /** Who has done with it says so: it ends when all have, and starts again for the next that asks. */
  stop(): Promise<void>;
}

async function ask(path: string): Promise<string> {
  const from = process.env[STANDING_URL];
  if (from === undefined) throw new Error(`${STANDING_URL} is not set: run the tests by the project's configuration`);
  const answer = await fetch(`${from}${path}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.text();
}

/**
 * A system that other tests use too, also at the same time, started when the first one asks. Its `owner` is somebody
 * new, of whom nobody else knows: tests with settings that no other has, or that end processes, start one by
 * `startSystem`.
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

/** The standing system as its operator has it: with its first owner, and what commands beside it are told. */
export async function operatedSystem(): Promise<Place & Pick<StandingSystem, 'stop'>> {
  const place = JSON.parse(await ask('/plain')) as Place;
  return { ...place, stop: async () => void (await ask('/plain/left')) };
}

/** Somebody who was invited to an Org and is no member of it any more. */
async function invite(place: Pick<System, 'baseUrl'>, first: Owner): Promise<Person> {
  const host = await signIn(place, first);
  const { data: org } = await host.post<Org>('/orgs', { name: 'Welcome' });
  const email = newAddress('owner');
  const { data: member } = await host.post<Member>(`/orgs/${org.id}/members`, { email, role: 'guest' });
  const owner = await signUp(place, 'Owner', { email, invitation: tokenOf(member.invite_url) });
  await host.del(`/orgs/${org.id}/members/${member.id}`);
  return owner;
}
