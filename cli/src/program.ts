import { ConfigError } from '@commonplace/kit/config';
import { VERSION } from '@commonplace/platform/runtime';
import { Command, CommanderError } from 'commander';
import { accountCommand } from './commands/account.js';
import { backupCommand } from './commands/backup.js';
import { type Context, examples } from './commands/context.js';
import { creditsCommand } from './commands/credits.js';
import { doctorCommand } from './commands/doctor.js';
import { eventsCommand } from './commands/events.js';
import { jobsCommand } from './commands/jobs.js';
import { keysCommand } from './commands/keys.js';
import { migrateCommand } from './commands/migrate.js';
import { publicationsCommand } from './commands/publications.js';
import { restoreCommand } from './commands/restore.js';
import { rotateSecretsCommand } from './commands/rotate-secrets.js';
import { indexCommand } from './commands/search-index.js';
import { sweeperCommand } from './commands/sweeper.js';
import { CommandError, EXIT } from './exit.js';
import { createScrub } from './scrub.js';

const EXIT_CODES = `
Exit codes:
  0   success; doctor: no check has failed, though there may be warnings
  1   failed; doctor: a check has failed
  64  the command line is invalid
  65  the backup is damaged, incomplete or of a newer version
  66  the input does not exist
  73  the target already exists, or is not empty
  78  the settings are invalid`;

const EXAMPLES = [
  'commonplace doctor',
  'commonplace backup --to /backups/2026-11-21.tar --data-dir /var/lib/commonplace',
  'COMMONPLACE_MONGODB_URL=mongodb://… commonplace migrate --check --json',
];

/** Parses a command line and runs it. Returns the exit code. */
export async function runProgram(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const context: Context = { env: { ...env }, exitCode: EXIT.ok, json: false };
  try {
    await createProgram(context).parseAsync(args, { from: 'user' });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    const exitCode = codeOf(error);
    const message = createScrub(context.env)(messageOf(error));
    if (context.json || args.includes('--json'))
      console.log(JSON.stringify({ error: { exit_code: exitCode, message } }));
    // Commander has printed its own errors.
    if (!(error instanceof CommanderError)) console.error(`commonplace: ${message}`);
    return exitCode;
  }
}

/** Returns the message of an error for operators, with its cause: which server does not answer, for example. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

function codeOf(error: unknown): number {
  if (error instanceof CommanderError) return EXIT.usage;
  if (error instanceof CommandError) return error.exitCode;
  return error instanceof ConfigError ? EXIT.config : EXIT.failed;
}

const COMMANDS = [
  doctorCommand,
  backupCommand,
  restoreCommand,
  migrateCommand,
  keysCommand,
  accountCommand,
  publicationsCommand,
  creditsCommand,
  rotateSecretsCommand,
  sweeperCommand,
  jobsCommand,
  eventsCommand,
  indexCommand,
];

function createProgram(context: Context): Command {
  const program = new Command('commonplace')
    .description(
      'Administers a Commonplace installation. It reads the same COMMONPLACE_* variables as the system itself.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .option('--data-dir <folder>', 'data folder, instead of COMMONPLACE_DATA_DIR')
    .option('--json', 'print one JSON object for programs')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .showHelpAfterError('--help after a command shows what it takes.')
    .addHelpText('after', examples(EXAMPLES))
    .addHelpText('after', EXIT_CODES)
    .hook('preAction', (_, command) => {
      requireValues(command);
      const { dataDir, json } = command.optsWithGlobals() as { dataDir?: string; json?: boolean };
      if (dataDir !== undefined) context.env.COMMONPLACE_DATA_DIR = dataDir;
      context.json = json === true;
    });
  for (const add of COMMANDS) {
    program.addCommand(inheriting(add(context), program));
  }
  return program;
}

/**
 * Throws if an option or argument is empty, as `--to "$FOLDER"` is where the variable is not set. No command means
 * anything by that.
 */
function requireValues(command: Command): void {
  const options = Object.entries(command.optsWithGlobals() as Record<string, unknown>);
  const empty = options.find(([, value]) => hasEmpty(value))?.[0];
  if (empty !== undefined)
    throw new CommandError(EXIT.usage, `--${empty.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} is empty`);
  const argument = command.registeredArguments[command.processedArgs.findIndex(hasEmpty)];
  if (argument !== undefined) throw new CommandError(EXIT.usage, `the argument ${argument.name()} is empty`);
}

function hasEmpty(value: unknown): boolean {
  return [value].flat().some((one) => typeof one === 'string' && one.trim() === '');
}

/** Copies settings to the commands below a command, so that, for example, their help shows the global options. */
function inheriting(command: Command, above: Command): Command {
  command.copyInheritedSettings(above);
  for (const below of command.commands) inheriting(below, command);
  return command;
}
