import { Command } from 'commander';
import { allowHeld, listTrash, restoreFromTrash } from '../sweeper.js';
import { answer, type Context, examples, sizeText } from './context.js';

/** Creates the command `commonplace sweeper`. */
export function sweeperCommand(context: Context): Command {
  const command = new Command('sweeper').description(
    'Looks after stored bytes that no record names: the system moves them into a trash of the store, and deletes them ' +
      'from there after COMMONPLACE_SWEEP_TRASH_DAYS.',
  );
  command.addHelpText('after', examples(['commonplace sweeper list', 'commonplace sweeper restore --all']));
  command
    .command('list')
    .description('Tells what is in the trash, and how many objects wait to be allowed.')
    .addHelpText('after', examples(['commonplace sweeper list', 'commonplace sweeper list --json']))
    .action(async () => {
      const { trash, held } = await listTrash(context.env);
      const lines = trash.map(({ key, trashedOn, sizeBytes }) => `${trashedOn}  ${key}  ${sizeText(sizeBytes)}`);
      const waiting = held.held > 0 ? [`${held.held} of ${held.objects} objects wait: commonplace sweeper allow`] : [];
      answer(context, { trash, held: held.held, objects: held.objects }, [
        ...lines,
        `${trash.length} objects are in the trash.`,
        ...waiting,
      ]);
    });
  command
    .command('restore')
    .description(
      'Gives bytes of the trash their places back. They are left alone for COMMONPLACE_SWEEP_GRACE_DAYS again.',
    )
    .argument('[key...]', 'keys, as list tells them')
    .option('--all', 'all that is in the trash')
    .addHelpText('after', examples(['commonplace sweeper restore --all']))
    .action(async (keys: string[], { all = false }: { all?: boolean }) => {
      const { restored, kept } = await restoreFromTrash(context.env, all ? 'all' : keys);
      answer(context, { restored, kept }, [
        `${restored.length} objects were restored.`,
        ...kept.map((key) => `${key} was not restored: there are bytes at its place`),
      ]);
    });
  command
    .command('allow')
    .description('Lets the next sweep move as many objects into the trash as the last one has held back.')
    .addHelpText('after', examples(['commonplace sweeper allow']))
    .action(async () => {
      const allowed = await allowHeld(context.env);
      answer(context, { allowed }, [
        allowed === 0
          ? 'No objects wait.'
          : `The next sweep, within the hour, moves up to ${allowed} objects into the trash.`,
      ]);
    });
  return command;
}
