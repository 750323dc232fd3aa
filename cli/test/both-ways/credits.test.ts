import { type Person, signIn } from '@commonplace/acceptance/dist/src/people.js';
import { operatedSystem } from '@commonplace/acceptance/dist/src/standing.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commonplace } from '../commonplace.js';

let system: Awaited<ReturnType<typeof operatedSystem>>;
let owner: Person;
beforeAll(async () => {
  system = await operatedSystem();
  owner = await signIn(system, system.owner);
});
afterAll(() => system?.stop());

async function credits(...args: string[]) {
  const { code, stdout, stderr } = await commonplace(['credits', ...args, '--json'], system.places);
  return { code, stderr, answer: JSON.parse(stdout) };
}

interface Balance {
  readonly available: string | null;
  readonly granted: string;
  readonly grants: readonly { readonly kind: string; readonly expires_at: string | null }[];
}

test('grants credits to an Org and to a person while the system runs, with immediate effect', async () => {
  const { data: org } = await owner.post<{ id: string; slug: string }>('/orgs', { name: 'Credit watchers' });
  const headers = { 'x-tenant': org.id };
  expect((await owner.get<Balance>('/credits', { headers })).data.available).toBeNull();
  const plan = await credits(
    'grant',
    '--tenant',
    org.slug,
    '--amount',
    '1000',
    '--kind',
    'plan',
    '--expires',
    '2100-01-31',
  );
  expect([plan.code, plan.stderr]).toEqual([0, '']);
  expect(plan.answer).toMatchObject({
    orgId: org.id,
    available: '1000',
    grants: [{ kind: 'plan', remaining: '1000' }],
  });
  const { data } = await owner.get<Balance>('/credits', { headers });
  expect(data).toMatchObject({ available: '1000', granted: '1000' });
  expect(data.grants).toMatchObject([{ kind: 'plan', expires_at: '2100-01-31T00:00:00.000Z' }]);

  const { email } = system.owner;
  expect((await credits('grant', '--tenant', email, '--amount', '2.5')).code).toBe(0);
  expect((await owner.get<Balance>('/credits')).data).toMatchObject({ available: '2.5', grants: [{ kind: 'topup' }] });

  const { answer } = await credits('list');
  const listed = answer.accounts as { orgId: string | null; available: string }[];
  expect(listed.map(({ available }) => available).sort()).toEqual(['1000', '2.5']);
  expect((await credits('list', '--tenant', org.id)).answer.accounts).toHaveLength(1);
  const { stdout } = await commonplace(['credits', 'list'], system.places);
  expect(stdout).toContain('Credit watchers: 1000 available');
  expect(stdout).toContain(`${email}: 2.5 available`);
});

test.each([
  [['--tenant', 'nobody@example.com', '--amount', '1'], 'no account has the address nobody@example.com', 66],
  [['--tenant', 'no-such-org', '--amount', '1'], 'there is no Org with the id or slug no-such-org', 66],
  [['--tenant', 'OWNER', '--amount', '-1'], '-1 is not an amount of credits above 0', 1],
  [['--tenant', 'OWNER', '--amount', '1', '--expires', '2001-01-31'], '2001-01-31T00:00:00.000Z is over', 1],
])('refuses a grant of %j: %s', async (args, message, exitCode) => {
  const named = args.map((word) => (word === 'OWNER' ? system.owner.email : word));
  const { code, stderr } = await commonplace(['credits', 'grant', ...named], system.places);
  expect([code, stderr.trim()]).toEqual([exitCode, `commonplace: ${message}`]);
});
