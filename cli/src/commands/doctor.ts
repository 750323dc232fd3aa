import { Command } from 'commander';
import type { Status } from '../doctor/check.js';
import { unreadableValues } from '../doctor/configuration.js';
import { diagnose } from '../doctor/diagnose.js';
import { CommandError, EXIT } from '../exit.js';
import { allTables, type Places, readPlaces } from '../settings.js';
import { answer, type Context, examples } from './context.js';

const STATUS_LABELS: Record<Status, string> = { ok: 'ok  ', warning: 'WARN', failed: 'FAIL', skipped: '-   ' };

export function doctorCommand(context: Context): Command {
  return new Command('doctor')
    .description('Checks settings, files, servers, clocks, disk and lag within 10 seconds. Changes nothing.')
    .option('--service <name...>', 'check only the settings of these services, as in one of their pods')
    .option('--thorough', 'check every table, row and file without a time limit')
    .addHelpText(
      'after',
      examples([
        'commonplace doctor',
        'commonplace doctor --data-dir /var/lib/commonplace --json',
        'commonplace doctor --service resources        # in a pod of the service',
        'commonplace doctor --thorough                 # after a crash of the disk, or before a migration',
      ]),
    )
    .action(async ({ service = [], thorough }: { service?: string[]; thorough?: boolean }) => {
      const unknown = service.find((name) => allTables[name] === undefined);
      if (unknown !== undefined) throw noService(unknown);
      const { ok, checks } = await diagnose(context.env, placesOf(context.env), service, thorough);
      const width = Math.max(...checks.map(({ name }) => name.length));
      const lines = checks.map(
        ({ name, status, detail }) => `${STATUS_LABELS[status]}  ${name.padEnd(width)}  ${detail}`,
      );
      answer(context, { ok, checks }, lines, { secrets: unreadableValues(context.env) });
      context.exitCode = ok ? EXIT.ok : EXIT.failed;
    });
}

function noService(name: string): CommandError {
  return new CommandError(
    EXIT.usage,
    `there is no service ${name}; there are ${Object.keys(allTables).sort().join(', ')}`,
  );
}

/**
 * Reads the places where data is stored; undefined if the settings are invalid, which the check of the configuration
 * reports.
 */
function placesOf(env: NodeJS.ProcessEnv): Places | undefined {
  try {
    return readPlaces(env);
  } catch {
    return undefined;
  }
}
