import { openStoreBeside } from '@commonplace/platform/runtime';
import {
  type OperatorPublication,
  openPublicationAdmin,
  type PublicationAdmin,
} from '@commonplace/resources/publication-admin';
import { Command } from 'commander';
import { CommandError, EXIT } from '../exit.js';
import { readPlaces } from '../settings.js';
import { answer, type Context, examples } from './context.js';

const WHICH = 'its id, or its slug, which is the part of its address behind /p/';

/** Creates the command `commonplace publications`. */
export function publicationsCommand(context: Context): Command {
  const publications = new Command('publications').description(
    'What is published, for who runs the installation: it works on the records themselves, whether the system runs or not.',
  );
  publications.addHelpText(
    'after',
    examples(['commonplace publications suspend a-slug', 'commonplace publications resume a-slug --json']),
  );
  publications
    .command('suspend')
    .description('Keeps a publication from its readers within seconds. Its editors can not bring it back.')
    .argument('<publication>', WHICH)
    .addHelpText('after', examples(['commonplace publications suspend a-slug']))
    .action((which: string) => act(context, which, (admin, found) => admin.suspend(found)));
  publications
    .command('resume')
    .description('Gives a publication back to its readers, as its editors have it.')
    .argument('<publication>', WHICH)
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
  if (beside === undefined) throw new CommandError(EXIT.missing, `there is no database in ${places.dataDir}`);
  try {
    const admin = await openPublicationAdmin(beside.store);
    const found = await admin.find(which);
    if (found === undefined) throw new CommandError(EXIT.failed, `there is no publication ${which}`);
    const changed = await change(admin, found);
    answer(context, { ...changed }, [lineOf(changed)]);
  } finally {
    await beside.close();
  }
}

function lineOf({ id, slug, kind, itemId, suspendedAt }: OperatorPublication): string {
  const standing = suspendedAt === null ? 'not suspended' : `suspended since ${suspendedAt}`;
  return `${slug}  ${id}  ${kind} ${itemId}  ${standing}`;
}
