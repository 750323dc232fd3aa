import { findAddresses, findPerson } from '@commonplace/identity/person-admin';
import type { Store } from '@commonplace/kit/store';
import { openStoreBeside } from '@commonplace/platform/runtime';
import { type OperatorAccount, type OperatorTenant, openCreditAdmin } from '@commonplace/tenancy/credit-admin';
import { openOrgAdmin } from '@commonplace/tenancy/org-admin';
import { Command, Option } from 'commander';
import { CommandError, EXIT, noDatabase } from '../exit.js';
import { readPlaces } from '../settings.js';
import { answer, type Context, examples } from './context.js';
import { parseTime } from './time.js';

const KINDS = ['plan', 'topup', 'promo', 'adjustment'] as const;
const TENANT = 'an Org, by id or slug, or a person, by e-mail address';

interface GrantOptions {
  readonly tenant: string;
  readonly amount: string;
  readonly kind: (typeof KINDS)[number];
  readonly expires?: string;
}

export function creditsCommand(context: Context): Command {
  const credits = new Command('credits').description(
    'Grants and lists credits. Reads and writes the records directly, whether or not the system is running.',
  );
  credits.addHelpText('after', examples(['commonplace credits list']));
  credits
    .command('grant')
    .description('Grants credits to a tenant. From its first grant on, a tenant can use no more than it has.')
    .requiredOption('--tenant <tenant>', TENANT)
    .requiredOption('--amount <credits>', 'number of credits, such as 100 or 2.5')
    .addOption(new Option('--kind <kind>', 'kind of the grant').choices(KINDS).default('topup'))
    .option(
      '--expires <time>',
      'time of expiry, such as 2027-01-31 or 2027-01-31T12:00:00Z; never by default',
      parseTime,
    )
    .addHelpText(
      'after',
      examples([
        'commonplace credits grant --tenant weir-watchers --amount 1000 --kind plan --expires 2027-01-31',
        'commonplace credits grant --tenant owner@example.com --amount 2.5',
      ]),
    )
    .action(async ({ tenant: which, amount, kind, expires: expiresAt }: GrantOptions) => {
      const tenant = await findTenant(context, which);
      const account = await atTenancy(context, async (store) =>
        (await openCreditAdmin(store)).grant(tenant, { kind, amount, ...(expiresAt !== undefined && { expiresAt }) }),
      );
      answer(context, account, linesOf(account, which));
    });
  credits
    .command('list')
    .description('Lists the credits of tenants that have used credits or were granted some.')
    .option('--tenant <tenant>', `only those of one tenant: ${TENANT}`)
    .addHelpText(
      'after',
      examples(['commonplace credits list', 'commonplace credits list --tenant weir-watchers --json']),
    )
    .action(async ({ tenant: which }: { tenant?: string }) => {
      const tenant = which === undefined ? undefined : await findTenant(context, which);
      const accounts = await atTenancy(context, async (store) => (await openCreditAdmin(store)).list(tenant));
      const names = await namesOf(context, accounts);
      const lines = accounts.flatMap((account) => linesOf(account, names.get(account.tenant) ?? account.tenant));
      answer(context, { accounts }, lines.length === 0 ? ['No tenant has used or been granted credits.'] : lines);
    });
  return credits;
}

async function findTenant(context: Context, which: string): Promise<OperatorTenant> {
  if (which.includes('@')) {
    const person = await withStore(context, 'identity', (store) => findPerson(store, which));
    if (person === undefined) throw new CommandError(EXIT.missing, `no account has the address ${which}`);
    return { userId: person.id };
  }
  const org = await withStore(context, 'tenancy', async (store) => (await openOrgAdmin(store)).find(which));
  if (org === undefined) throw new CommandError(EXIT.missing, `there is no Org with the id or slug ${which}`);
  return { orgId: org.id };
}

/** Returns display names of tenants by id: the Org's name, or the person's e-mail address. */
async function namesOf(context: Context, accounts: readonly OperatorAccount[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const people = accounts.flatMap(({ userId }) => userId ?? []);
  const addresses = await withStore(context, 'identity', (store) => findAddresses(store, people));
  await withStore(context, 'tenancy', async (store) => {
    const admin = await openOrgAdmin(store);
    for (const { tenant, orgId, userId } of accounts) {
      const name = orgId === null ? addresses.get(userId ?? '') : (await admin.find(orgId))?.name;
      if (name !== undefined) names.set(tenant, name);
    }
  });
  return names;
}

function atTenancy<T>(context: Context, act: (store: Store) => Promise<T>): Promise<T> {
  return withStore(context, 'tenancy', act).catch((error: unknown) => {
    throw error instanceof RangeError ? new CommandError(EXIT.failed, error.message) : error;
  });
}

/** Opens the records of a service while `act` runs. */
async function withStore<T>(context: Context, service: string, act: (store: Store) => Promise<T>): Promise<T> {
  const places = readPlaces(context.env);
  const beside = await openStoreBeside(places, service);
  if (beside === undefined) throw noDatabase(places.dataDir);
  try {
    return await act(beside.store);
  } finally {
    await beside.close();
  }
}

function linesOf({ available, reserved, used, overage, grants }: OperatorAccount, name: string): string[] {
  const has = available === null ? 'unlimited' : `${available} available, ${reserved} reserved`;
  return [
    `${name}: ${has}; ${used} used this month${overage === '0' ? '' : `, ${overage} of it beyond the balance`}`,
    ...grants.map(
      ({ id, kind, amount, remaining, expiresAt }) =>
        `  ${id}  ${kind.padEnd(10)}  ${remaining} of ${amount} left${expiresAt === null ? '' : `, until ${expiresAt}`}`,
    ),
  ];
}
