import { config as identityConfig } from '@commonplace/identity/config';
import {
  type KeyAdmin,
  type KeyOrg,
  OperatorError,
  type OperatorKey,
  openKeyAdmin,
} from '@commonplace/identity/key-admin';
import { readConfigs } from '@commonplace/kit/config';
import type { Store } from '@commonplace/kit/store';
import { openStoreBeside } from '@commonplace/platform/runtime';
import { openOrgAdmin } from '@commonplace/tenancy/org-admin';
import { Command, InvalidArgumentError } from 'commander';
import { CommandError, EXIT } from '../exit.js';
import { readPlaces, withKeyFiles } from '../settings.js';
import { answer, type Context, examples } from './context.js';

/** Creates the command `commonplace keys`. */
export function keysCommand(context: Context): Command {
  const keys = new Command('keys').description(
    'API keys, for who runs the installation and has none: it works on the records themselves, whether the system runs or not.',
  );
  keys.addHelpText(
    'after',
    examples(['commonplace keys list', 'commonplace keys create --email owner@example.com --json']),
  );
  keys
    .command('list')
    .description('Lists keys; never what opens them.')
    .option('--email <address>', 'only those of one person')
    .option('--revoked', 'those that are revoked as well')
    .addHelpText('after', examples(['commonplace keys list', 'commonplace keys list --email owner@example.com --json']))
    .action(async (options: { email?: string; revoked?: boolean }) => {
      const found = await withAdmin(context, (admin) => admin.list(options));
      answer(context, { keys: found }, found.length === 0 ? ['There are no keys.'] : found.map(lineOf));
    });
  keys
    .command('create')
    .description('Makes a key for a person, Personal or of an Org, and tells it this once.')
    .requiredOption('--email <address>', 'whose it is; of an Org, an owner or admin')
    .option('--org <org>', 'the Org that it works in, by id or slug; a Personal key when not given')
    .option('--name <name>', 'what it is called', 'Made by the operator')
    .option('--scopes <scopes>', 'separated by commas; all that there are when not given')
    .option(
      '--expires <time>',
      'when it ends, as 2027-01-31 or 2027-01-31T12:00:00Z, or `never`; after 90 days when not given',
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
      const scopes = (options.scopes ?? '').split(',').flatMap((scope) => scope.trim() || []);
      const { email, name, expires: expiresAt } = options;
      const org = options.org === undefined ? undefined : await findOrg(context, options.org);
      const made = await withAdmin(context, (admin) => admin.create({ email, name, scopes, expiresAt, org }));
      const lines = [`API key  ${made.secret}`, 'It is shown this once.', lineOf(made.key)];
      answer(context, { key: made.secret, ...made.key }, lines);
    });
  keys
    .command('revoke')
    .description('Revokes a key: it opens nothing a second later.')
    .argument('<key>', 'its id, or what `list` shows of it')
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
  readonly scopes?: string;
  readonly expires?: string | null;
  readonly org?: string;
}

async function withAdmin<T>(context: Context, act: (admin: KeyAdmin) => Promise<T>): Promise<T> {
  const { secrets, keyLifetimeDays } = identityConfig;
  const settings = readConfigs(
    { identity: { secrets, keyLifetimeDays } },
    withKeyFiles(context.env, readPlaces(context.env).dataDir),
  ).identity;
  return withStore(context, 'identity', async (store) => act(await openKeyAdmin(store, settings)));
}

/** Finds an Org. `isAdmin` reads its members only when the key is created. */
async function findOrg(context: Context, which: string): Promise<KeyOrg> {
  const org = await withStore(context, 'tenancy', async (store) => (await openOrgAdmin(store)).find(which));
  if (org === undefined) throw new CommandError(EXIT.failed, `there is no Org with the id or slug ${which}`);
  const { id, name } = org;
  const isAdmin = (userId: string) =>
    withStore(context, 'tenancy', async (store) => {
      const found = await (await openOrgAdmin(store)).find(id);
      return (await found?.isAdmin(userId)) ?? false;
    });
  return { id, name, isAdmin };
}

/** Opens the records of a service, and closes them when the work is done. */
async function withStore<T>(context: Context, service: string, act: (store: Store) => Promise<T>): Promise<T> {
  const places = readPlaces(context.env);
  const beside = await openStoreBeside(places, service);
  if (beside === undefined) throw new CommandError(EXIT.missing, `there is no database in ${places.dataDir}`);
  try {
    return await act(beside.store);
  } catch (error) {
    throw error instanceof OperatorError ? new CommandError(EXIT.failed, error.message) : error;
  } finally {
    await beside.close();
  }
}

function parseEnd(text: string): string | null {
  return text === 'never' ? null : parseTime(text);
}

function parseTime(text: string): string {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidArgumentError('This is no time.');
  return new Date(time).toISOString();
}

function lineOf({ prefix, last4, status, person, name, orgId, scopes, expiresAt }: OperatorKey): string {
  const ends = expiresAt === null ? '' : `, ends ${expiresAt}`;
  return `${prefix}…${last4}  ${status.padEnd(9)}  ${person}  ${name} (${orgId === null ? '' : `Org ${orgId}, `}${scopes.length} scopes${ends})`;
}
