import { formatOf, migrate, openStoreBeside, type ServiceModule } from '@commonplace/platform/runtime';
import { Command } from 'commander';
import { CommandError, EXIT, noDatabase } from '../exit.js';
import { type Places, readPlaces } from '../settings.js';
import { answer, type Context, examples, progressOf } from './context.js';

interface ServiceMigrations {
  readonly service: string;
  /** Format of the service's stored data; null if nothing is stored yet. */
  readonly format: number | null;
  readonly pending: readonly string[];
  readonly ran: readonly string[];
}

export function migrateCommand(context: Context): Command {
  return new Command('migrate')
    .description(
      'Migrates data stored by earlier releases to the format of this release, before it starts. If several processes ' +
        'migrate, one does the work; an interrupted migration can be repeated.',
    )
    .option('--new', 'succeed if nothing is stored yet, instead of exit code 66')
    .option('--check', 'only print pending migrations; exit code 1 if there are any')
    .addHelpText(
      'after',
      examples(['commonplace migrate', 'commonplace migrate --check --json', 'commonplace migrate --new']),
    )
    .action(async ({ check = false, new: mayBeNew = false }: { check?: boolean; new?: boolean }) => {
      const places = readPlaces(context.env);
      const { everything } = await import('@commonplace/all/everything');
      const services: ServiceMigrations[] = [];
      for (const module of everything)
        if (module.stores) services.push(await migrateOne(places, module, check, mayBeNew));
      const pending = services.some((service) => service.pending.length > 0);
      answer(context, { pending, services }, linesOf(services));
      if (pending) context.exitCode = EXIT.failed;
    });
}

async function migrateOne(
  places: Places,
  { name, migrations = [] }: ServiceModule,
  check: boolean,
  mayBeNew: boolean,
): Promise<ServiceMigrations> {
  const beside = await openStoreBeside(places, name);
  if (beside === undefined && mayBeNew) return { service: name, format: null, pending: [], ran: [] };
  if (beside === undefined) throw noDatabase(places.dataDir);
  const progress = progressOf();
  try {
    const before = await formatOf(beside.store, migrations);
    if (before.format !== undefined && before.format > before.latest) throw newer(name);
    const run = !check && before.pending.length > 0;
    const ran = run ? await migrate(beside.store, migrations, (step) => progress.step(`${name}: ${step}`)) : [];
    const { format = null, pending } = run ? await formatOf(beside.store, migrations) : before;
    return { service: name, format, pending: format === null ? [] : pending, ran };
  } finally {
    progress.end();
    await beside.close();
  }
}

function newer(service: string): CommandError {
  return new CommandError(EXIT.config, `what ${service} has stored is of a newer release: run that one`);
}

function linesOf(services: readonly ServiceMigrations[]): string[] {
  const lines = services.flatMap(({ service, pending, ran }) => [
    ...ran.map((name) => `${service}: ${name} is done`),
    ...pending.map((name) => `${service}: ${name} is pending`),
  ]);
  return lines.length > 0 ? lines : ['Nothing is pending.'];
}
