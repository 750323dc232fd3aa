import { config as identityConfig } from '@commonplace/identity/config';
import { openSecurityAdmin, type SecurityAdmin } from '@commonplace/identity/security-admin';
import { readConfigs } from '@commonplace/kit/config';
import { openStoreBeside } from '@commonplace/platform/runtime';
import { Command } from 'commander';
import { CommandError, EXIT, noDatabase } from '../exit.js';
import { commandError } from '../operator-errors.js';
import { requireOwnSecret } from '../own-secret.js';
import { readPlaces, withKeyFiles } from '../settings.js';
import { answer, type Context, examples } from './context.js';

export function accountCommand(context: Context): Command {
  const account = new Command('account').description(
    'Resets credentials of people who can no longer sign in, ends sessions, and disables accounts. Reads and writes ' +
      'the records directly, whether or not the system is running.',
  );
  account.addHelpText('after', examples(['commonplace account reset-password owner@example.com']));
  account
    .command('reset-password')
    .description(
      'Replaces the password of a person by a generated one, prints it once, and ends all their sessions. The generated ' +
        'password is valid for one sign-in within 24 hours, after which the person chooses a new one.',
    )
    .argument('<email>', 'address of the account')
    .option(
      '--link',
      'print a link for choosing a new password instead; the current one stays valid until the link is used',
    )
    .addHelpText(
      'after',
      examples([
        'commonplace account reset-password owner@example.com',
        'commonplace account reset-password owner@example.com --link --json',
      ]),
    )
    .action(async (email: string, options: { link?: boolean }) => {
      if (options.link) await printLink(context, email);
      else await printPassword(context, email);
    });
  account
    .command('reset-second-factor')
    .description(
      'Removes the authenticator app and the passkeys of a person who has lost them, and ends all their sessions.',
    )
    .argument('<email>', 'address of the account')
    .addHelpText('after', examples(['commonplace account reset-second-factor owner@example.com']))
    .action(async (email: string) => {
      const reset = await withAdmin(context, (admin) => admin.resetSecondFactor(email));
      answer(context, reset, [
        `${reset.email} signs in with the password alone.`,
        `${reset.passkeysRemoved} passkeys were removed, and ${reset.sessionsEnded} sessions were ended.`,
      ]);
    });
  account
    .command('end-sessions')
    .description("Ends all browser sessions of a person, or everybody's. API keys are not affected.")
    .argument('[email]', 'address of the account')
    .option('--all', "end everybody's sessions")
    .addHelpText(
      'after',
      examples(['commonplace account end-sessions owner@example.com', 'commonplace account end-sessions --all']),
    )
    .action(async (email: string | undefined, { all = false }: { all?: boolean }) => {
      if ((email === undefined) !== all) throw new CommandError(EXIT.usage, 'specify either an address or --all');
      const ended = await withAdmin(context, (admin) => admin.endSessions(email));
      answer(context, { ...ended }, [`${ended.sessionsEnded} sessions were ended.`]);
    });
  account
    .command('disable')
    .description(
      'Disables an account: its sessions end, and its password, passkeys, API keys and tokens of an identity provider ' +
        'are refused. Content and roles of the person are kept.',
    )
    .argument('<email>', 'address of the account')
    .addHelpText('after', examples(['commonplace account disable owner@example.com']))
    .action(async (email: string) => {
      const disabled = await withAdmin(context, (admin) => admin.disable(email));
      answer(context, { ...disabled }, [
        `The account of ${disabled.email} is disabled, and ${disabled.sessionsEnded} sessions were ended.`,
      ]);
    });
  account
    .command('enable')
    .description('Enables an account that was disabled. Its password, passkeys and API keys are accepted again.')
    .argument('<email>', 'address of the account')
    .addHelpText('after', examples(['commonplace account enable owner@example.com']))
    .action(async (email: string) => {
      const { email: enabled } = await withAdmin(context, (admin) => admin.enable(email));
      answer(context, { email: enabled }, [`The account of ${enabled} is enabled.`]);
    });
  return account;
}

async function printPassword(context: Context, email: string): Promise<void> {
  const issued = await withAdmin(context, (admin) => admin.resetPassword(email));
  answer(context, { ...issued }, [
    `Password  ${issued.password}`,
    `It is shown only now, and is valid for one sign-in until ${issued.expiresAt}.`,
    `${issued.sessionsEnded} sessions of ${issued.email} were ended.`,
  ]);
}

async function printLink(context: Context, email: string): Promise<void> {
  const { resetMinutes, publicUrl } = readConfigs(
    { identity: { resetMinutes: identityConfig.resetMinutes, publicUrl: identityConfig.publicUrl } },
    context.env,
  ).identity;
  const issued = await withAdmin(context, (admin) => admin.issueResetLink(email, resetMinutes * 60_000));
  const link = `${publicUrl}/auth/reset-password?token=${issued.token}`;
  answer(context, { email: issued.email, link, expiresAt: issued.expiresAt }, [
    `Link  ${link}`,
    `It is shown only now, and works once until ${issued.expiresAt}.`,
  ]);
}

async function withAdmin<T>(context: Context, act: (admin: SecurityAdmin) => Promise<T>): Promise<T> {
  const places = readPlaces(context.env);
  const beside = await openStoreBeside(places, 'identity');
  if (beside === undefined) throw noDatabase(places.dataDir);
  try {
    const { secrets } = readConfigs(
      { identity: { secrets: identityConfig.secrets } },
      withKeyFiles(context.env, places.dataDir),
    ).identity;
    await requireOwnSecret(beside.installation, secrets);
    return await act(await openSecurityAdmin(beside.store, secrets));
  } catch (error) {
    throw commandError(error);
  } finally {
    await beside.close();
  }
}
