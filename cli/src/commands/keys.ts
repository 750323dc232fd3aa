import { config as identityConfig } from '@commonplace/identity/config';
import { DeskError, type DeskKey, type KeyDesk, openKeyDesk } from '@commonplace/identity/key-desk';
import { readConfigs } from '@commonplace/kit/config';
import { openStoreBeside } from '@commonplace/kit/runtime';
import { Command, InvalidArgumentError } from 'commander';
import { CommandError, EXIT } from '../exit.js';
import { readPlaces, withKeyFiles } from '../settings.js';
import { answer, type Context, examples } from './context.js';

/** `commonplace keys` */
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
      const found = await atDesk(context, (desk) => desk.list(options));
      answer(context, { keys: found }, found.length === 0 ? ['There are no keys.'] : found.map(lineOf));
    });
  keys
    .command('create')
    .description('Makes a Personal key for a person, and tells it this once.')
    .requiredOption('--email <address>', 'whose it is')
    .option('--name <name>', 'what it is called', 'Made by the operator')
    .option('--scopes <scopes>', 'separated by commas; all that there are when not given')
    .option('--expires <time>', 'when it ends, as 2027-01-31 or 2027-01-31T12:00:00Z', parseTime)
    .addHelpText(
      'after',
      examples([
        'commonplace keys create --email owner@example.com',
        'commonplace keys create --email owner@example.com --scopes resource:read,content:read --expires 2027-01-31',
      ]),
    )
    .action(async (options: { email: string; name: string; scopes?: string; expires?: string }) => {
      const scopes = (options.scopes ?? '').split(',').flatMap((scope) => scope.trim() || []);
      const { email, name, expires: expiresAt } = options;
      const made = await atDesk(context, (desk) => desk.create({ email, name, scopes, expiresAt }));
      const lines = [`API key  ${made.secret}`, 'It is shown this once.', lineOf(made.key)];
      answer(context, { key: made.secret, ...made.key }, lines);
    });
  keys
    .command('revoke')
    .description('Revokes a key: it opens nothing a second later.')
    .argument('<key>', 'its id, or what `list` shows of it')
    .addHelpText('after', examples(['commonplace keys revoke wsk_p_3fGh5Jk7LmN9']))
    .action(async (which: string) => {
      const key = await atDesk(context, (desk) => desk.revoke(which));
      answer(context, { ...key }, [lineOf(key)]);
    });
  return keys;
}

async function atDesk<T>(context: Context, act: (desk: KeyDesk) => Promise<T>): Promise<T> {
  const places = readPlaces(context.env);
  const { secrets } = readConfigs(
    { identity: { secrets: identityConfig.secrets } },
    withKeyFiles(context.env, places.dataDir),
  ).identity;
  const beside = await openStoreBeside(places, 'identity');
  if (beside === undefined) throw new CommandError(EXIT.missing, `there is no database in ${places.dataDir}`);
  try {
    return await act(await openKeyDesk(beside.store, secrets));
  } catch (error) {
    throw error instanceof DeskError ? new CommandError(EXIT.failed, error.message) : error;
  } finally {
    await beside.close();
  }
}

function parseTime(text: string): string {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidArgumentError('This is no time.');
  return new Date(time).toISOString();
}

function lineOf({ prefix, last4, status, person, name, scopes, expiresAt }: DeskKey): string {
  const ends = expiresAt === null ? '' : `, ends ${expiresAt}`;
  return `${prefix}…${last4}  ${status.padEnd(9)}  ${person}  ${name} (${scopes.length} scopes${ends})`;
}
