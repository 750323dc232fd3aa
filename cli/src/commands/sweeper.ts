import { Command } from 'commander';
import { selectionOf } from '../selection.js';
import { allowHeld, listTrash, restoreFromTrash } from '../sweeper.js';
import { answer, type Context, examples, sizeText } from './context.js';

export function sweeperCommand(context: Context): Command {
  const command = new Command('sweeper').description(
    'Handles orphans, which are stored bytes that no record names. The system moves them to a trash in the store, and ' +
      'deletes them from there after COMMONPLACE_SWEEP_TRASH_DAYS.',
  );
  command.addHelpText('after', examples(['commonplace sweeper list', 'commonplace sweeper restore --all']));
  command
    .command('list')
    .description('Lists the trash, and prints how many objects wait for approval.')
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
      'Moves objects from the trash back to their keys. The sweeper ignores them for COMMONPLACE_SWEEP_GRACE_DAYS.',
    )
    .argument('[key...]', 'keys as shown by list')
    .option('--all', 'all objects in the trash')
    .addHelpText('after', examples(['commonplace sweeper restore --all']))
    .action(async (keys: string[], { all = false }: { all?: boolean }) => {
      const { restored, kept } = await restoreFromTrash(context.env, selectionOf(keys, all, 'keys'));
      answer(context, { restored, kept }, [
        `${restored.length} objects were restored.`,
        ...kept.map((key) => `${key} was not restored: its key is in use again`),
      ]);
    });
  command
    .command('allow')
    .description('Allows the next sweep to move as many objects to the trash as the last one held back.')
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
