import { openStoreBeside } from '@commonplace/platform/runtime';
import {
  type OperatorPublication,
  openPublicationAdmin,
  type PublicationAdmin,
} from '@commonplace/resources/publication-admin';
import { Command } from 'commander';
import { CommandError, EXIT, noDatabase } from '../exit.js';
import { readPlaces } from '../settings.js';
import { answer, type Context, examples } from './context.js';

const PUBLICATION_HELP = 'id of the publication, or its slug, which follows /p/ in its address';

export function publicationsCommand(context: Context): Command {
  const publications = new Command('publications').description(
    'Suspends and resumes publications. Reads and writes the records directly, whether or not the system is running.',
  );
  publications.addHelpText(
    'after',
    examples(['commonplace publications suspend a-slug', 'commonplace publications resume a-slug --json']),
  );
  publications
    .command('suspend')
    .description('Hides a publication from its readers within seconds. Its editors cannot undo that.')
    .argument('<publication>', PUBLICATION_HELP)
    .addHelpText('after', examples(['commonplace publications suspend a-slug']))
    .action((which: string) => act(context, which, (admin, found) => admin.suspend(found)));
  publications
    .command('resume')
    .description('Makes a suspended publication available to its readers again, with its current settings.')
    .argument('<publication>', PUBLICATION_HELP)
    .addHelpText('after', examples(['commonplace publications resume a-slug']))
    .action((which: string) => act(context, which, (admin, found) => admin.resume(found)));
  return publications;
}

type Found = NonNullable<Awaited<ReturnType<PublicationAdmin['find']>>>;

async function act(
  context: Context,
  which: string,
  change: (admin: PublicationAdmin, found: Found) => Promise<OperatorPublication>,
): Promise<void> {
  const places = readPlaces(context.env);
  const beside = await openStoreBeside(places, 'resources');
  if (beside === undefined) throw noDatabase(places.dataDir);
  try {
    const admin = await openPublicationAdmin(beside.store);
    const found = await admin.find(which);
    if (found === undefined) throw new CommandError(EXIT.missing, `there is no publication ${which}`);
    const changed = await change(admin, found);
    answer(context, { ...changed }, [lineOf(changed)]);
  } finally {
    await beside.close();
  }
}

function lineOf({ id, slug, kind, itemId, suspendedAt }: OperatorPublication): string {
  const suspension = suspendedAt === null ? 'not suspended' : `suspended since ${suspendedAt}`;
  return `${slug}  ${id}  ${kind} ${itemId}  ${suspension}`;
}
