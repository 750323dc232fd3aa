import { config as identityConfig } from '@commonplace/identity/config';
import { type KeyAdmin, type KeyOrg, type OperatorKey, openKeyAdmin } from '@commonplace/identity/key-admin';
import { readConfigs } from '@commonplace/kit/config';
import type { InstallationRecords } from '@commonplace/kit/installation';
import type { Store } from '@commonplace/kit/store';
import { openStoreBeside } from '@commonplace/platform/runtime';
import { openOrgAdmin } from '@commonplace/tenancy/org-admin';
import { Command, InvalidArgumentError } from 'commander';
import { CommandError, EXIT, noDatabase } from '../exit.js';
import { commandError } from '../operator-errors.js';
import { requireOwnSecret } from '../own-secret.js';
import { readPlaces, withKeyFiles } from '../settings.js';
import { answer, type Context, examples } from './context.js';
import { parseTime } from './time.js';

export function keysCommand(context: Context): Command {
  const keys = new Command('keys').description(
    'Creates, lists and revokes API keys. Reads and writes the records directly, whether or not the system is running.',
  );
  keys.addHelpText(
    'after',
    examples(['commonplace keys list', 'commonplace keys create --email owner@example.com --json']),
  );
  keys
    .command('list')
    .description('Lists keys without their secrets.')
    .option('--email <address>', 'only keys of this person')
    .option('--revoked', 'include revoked keys')
    .addHelpText('after', examples(['commonplace keys list', 'commonplace keys list --email owner@example.com --json']))
    .action(async (options: { email?: string; revoked?: boolean }) => {
      const found = await withAdmin(context, (admin) => admin.list(options));
      answer(context, { keys: found }, found.length === 0 ? ['There are no keys.'] : found.map(lineOf));
    });
  keys
    .command('create')
    .description('Creates a Personal key or an Org key for a person, and prints it once.')
    .requiredOption('--email <address>', 'owner of the key; for an Org key, an owner or admin of the Org')
    .option('--org <org>', 'the Org of the key, by id or slug; a Personal key by default')
    .option('--name <name>', 'name of the key', 'Made by the operator')
    .option('--scopes <scopes>', 'comma-separated scopes; all by default', parseScopes)
    .option(
      '--expires <time>',
      'time of expiry, such as 2027-01-31 or 2027-01-31T12:00:00Z, or `never`; 90 days from now by default',
      parseEnd,
    )
    .addHelpText(
      'after',
      examples([
        'commonplace keys create --email owner@example.com',
        'commonplace keys create --email owner@example.com --scopes resource:read,content:read --expires 2027-01-31',
        'commonplace keys create --email owner@example.com --org weir-watchers',
      ]),
    )
    .action(async (options: NewKeyOptions) => {
      const { email, name, scopes = [], expires: expiresAt } = options;
      const org = options.org === undefined ? undefined : await findOrg(context, options.org);
      const made = await withAdmin(context, (admin) => admin.create({ email, name, scopes, expiresAt, org }));
      const lines = [`API key  ${made.secret}`, 'It is shown only now.', lineOf(made.key)];
      answer(context, { key: made.secret, ...made.key }, lines);
    });
  keys
    .command('revoke')
    .description('Revokes a key. Within a second it is refused everywhere.')
    .argument('<key>', 'id of the key, or its prefix as shown by `list`')
    .addHelpText('after', examples(['commonplace keys revoke wsk_p_3fGh5Jk7LmN9']))
    .action(async (which: string) => {
      const key = await withAdmin(context, (admin) => admin.revoke(which));
      answer(context, { ...key }, [lineOf(key)]);
    });
  return keys;
}

interface NewKeyOptions {
  readonly email: string;
  readonly name: string;
  readonly scopes?: string[];
  readonly expires?: string | null;
  readonly org?: string;
}

async function withAdmin<T>(context: Context, act: (admin: KeyAdmin) => Promise<T>): Promise<T> {
  return withStore(context, 'identity', async (store, installation) => {
    const { secrets, keyLifetimeDays } = identityConfig;
    const settings = readConfigs(
      { identity: { secrets, keyLifetimeDays } },
      withKeyFiles(context.env, readPlaces(context.env).dataDir),
    ).identity;
    await requireOwnSecret(installation, settings.secrets);
    return act(await openKeyAdmin(store, settings));
  });
}

/** Finds an Org. Its `isAdmin` reads the members only when it is called. */
async function findOrg(context: Context, which: string): Promise<KeyOrg> {
  const org = await withStore(context, 'tenancy', async (store) => (await openOrgAdmin(store)).find(which));
  if (org === undefined) throw new CommandError(EXIT.missing, `there is no Org with the id or slug ${which}`);
  const { id, name } = org;
  const isAdmin = (userId: string) =>
    withStore(context, 'tenancy', async (store) => {
      const found = await (await openOrgAdmin(store)).find(id);
      return (await found?.isAdmin(userId)) ?? false;
    });
  return { id, name, isAdmin };
}

/** Opens the records of a service while `act` runs. */
async function withStore<T>(
  context: Context,
  service: string,
  act: (store: Store, installation: InstallationRecords) => Promise<T>,
): Promise<T> {
  const places = readPlaces(context.env);
  const beside = await openStoreBeside(places, service);
  if (beside === undefined) throw noDatabase(places.dataDir);
  try {
    return await act(beside.store, beside.installation);
  } catch (error) {
    throw commandError(error);
  } finally {
    await beside.close();
  }
}

function parseEnd(text: string): string | null {
  return text === 'never' ? null : parseTime(text);
}

function parseScopes(text: string): string[] {
  const scopes = text.split(',').flatMap((scope) => scope.trim() || []);
  if (scopes.length === 0) throw new InvalidArgumentError('It must name a scope.');
  return scopes;
}

function lineOf({ prefix, last4, status, person, name, orgId, scopes, expiresAt }: OperatorKey): string {
  const ends = expiresAt === null ? '' : `, ends ${expiresAt}`;
  return `${prefix}…${last4}  ${status.padEnd(9)}  ${person}  ${name} (${orgId === null ? '' : `Org ${orgId}, `}${scopes.length} scopes${ends})`;
}
