import { Command } from 'commander';
import { handleParkedEvents, listParkedEvents } from '../events.js';
import { selectionOf } from '../selection.js';
import { answer, type Context, examples } from './context.js';

interface Options {
  readonly consumer?: string;
  readonly all?: boolean;
}

export function eventsCommand(context: Context): Command {
  const command = new Command('events').description(
    'Lists, retries and deletes parked events, on which a consumer failed at every attempt.',
  );
  command.addHelpText('after', examples(['commonplace events list', 'commonplace events retry --all']));
  command
    .command('list')
    .description('Lists the parked events, with the last error of each.')
    .option('--consumer <name>', 'only events of this consumer, such as search-index')
    .addHelpText(
      'after',
      examples(['commonplace events list', 'commonplace events list --consumer search-index --json']),
    )
    .action(async ({ consumer }: Options) => {
      const events = await listParkedEvents(context.env, consumer);
      const lines = events.map(
        ({ time, consumer, id, type, subject, attempts, error }) =>
          `${time}  ${consumer}  ${id}  ${type} of ${subject}\n    failed ${attempts} times, last: ${error}`,
      );
      answer(context, { events }, [...lines, `${events.length} events are parked.`]);
    });
  for (const action of ['retry', 'delete'] as const) {
    command
      .command(action)
      .description(
        action === 'retry'
          ? 'Delivers events to their consumers again and resets the number of attempts.'
          : 'Deletes events. Their effects will never happen.',
      )
      .argument('[id...]', 'ids as shown by list')
      .option('--all', 'all parked events')
      .option('--consumer <name>', 'only events of this consumer')
      .addHelpText('after', examples([`commonplace events ${action} --all --consumer search-index`]))
      .action(async (ids: string[], { all = false, consumer }: Options) => {
        const selected = selectionOf(ids, all, 'ids of events');
        const handled = await handleParkedEvents(context.env, action, { consumer, ids: selected });
        answer(context, { events: handled }, [
          `${handled} events were ${action === 'retry' ? 'delivered to their consumers again' : 'deleted'}.`,
        ]);
      });
  }
  return command;
}
