import { Command } from 'commander';
import { EXIT } from '../exit.js';
import { handleGivenUp, type JobResult, listGivenUp } from '../jobs.js';
import { selectionOf } from '../selection.js';
import { answer, type Context, examples } from './context.js';

interface Options {
  readonly queue?: string;
  readonly all?: boolean;
}

export function jobsCommand(context: Context): Command {
  const command = new Command('jobs').description(
    'Lists, retries and deletes background jobs that were given up after repeated failures.',
  );
  command.addHelpText('after', examples(['commonplace jobs list', 'commonplace jobs retry --all']));
  command
    .command('list')
    .description('Lists the jobs that were given up, with the last error of each.')
    .option('--queue <name>', 'only jobs of this queue, such as files.uploads')
    .addHelpText('after', examples(['commonplace jobs list', 'commonplace jobs list --queue resources.tree --json']))
    .action(async ({ queue }: Options) => {
      const jobs = await listGivenUp(context.env, queue);
      const lines = jobs.map(
        ({ at, queue, id, description, failures, code, message }) =>
          `${at}  ${queue}  ${id}  ${description}\n    failed ${failures} times, last: ${code}: ${message}`,
      );
      answer(context, { jobs }, [...lines, `${jobs.length} jobs were given up.`]);
    });
  for (const action of ['retry', 'delete'] as const) {
    command
      .command(action)
      .description(
        action === 'retry'
          ? 'Makes jobs due again and resets the number of failures.'
          : 'Deletes jobs. Jobs that reads or reservations depend on are refused.',
      )
      .argument('[id...]', 'ids as shown by list')
      .option('--all', 'all jobs that were given up')
      .option('--queue <name>', 'only jobs of this queue')
      .addHelpText('after', examples([`commonplace jobs ${action} --all --queue resources.webhooks`]))
      .action(async (ids: string[], { all = false, queue }: Options) => {
        const handled = await handleGivenUp(context.env, action, selectionOf(ids, all, 'ids of jobs'), queue);
        const refused = handled.filter(({ outcome }) => outcome.status === 'refused');
        if (refused.length > 0) context.exitCode = EXIT.failed;
        answer(context, { jobs: handled }, [
          ...refused.map(refusalText),
          `${handled.length - refused.length} jobs were ${action === 'retry' ? 'made due' : 'deleted'}.`,
        ]);
      });
  }
  return command;
}

function refusalText({ queue, id, outcome }: JobResult): string {
  const reason = outcome.status === 'refused' ? outcome.reason : '';
  return `${queue} ${id} was not deleted: ${reason}`;
}
