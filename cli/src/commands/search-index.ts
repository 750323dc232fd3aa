import { openStoreBeside } from '@commonplace/platform/runtime';
import { readRebuildRequest, requestRebuild } from '@commonplace/search/queues';
import { Command } from 'commander';
import { noDatabase } from '../exit.js';
import { readPlaces } from '../settings.js';
import { answer, type Context, examples } from './context.js';

export function indexCommand(context: Context): Command {
  const command = new Command('index').description('Rebuilds the search index from the records.');
  command.addHelpText('after', examples(['commonplace index rebuild', 'commonplace index status']));
  command
    .command('rebuild')
    .description(
      'Requests a rebuild from the search service, which begins within 15 seconds, or at its next start. The current ' +
        'index is used until the new one is complete.',
    )
    .addHelpText('after', examples(['commonplace index rebuild']))
    .action(async () => {
      const { requestedAt } = await withStore(context.env, (store) => requestRebuild(store));
      answer(context, { requestedAt }, [`A rebuild was requested at ${requestedAt}.`]);
    });
  command
    .command('status')
    .description('Prints whether a rebuild is requested or running, and why the last one failed.')
    .addHelpText('after', examples(['commonplace index status --json']))
    .action(async () => {
      const request = await withStore(context.env, readRebuildRequest);
      const status = statusOf(request);
      answer(context, { status, requestedAt: request?.requestedAt, error: request?.deadLetter?.message }, [
        TEXTS[status],
        ...(request?.deadLetter ? [`It was given up: ${request.deadLetter.message}`] : []),
      ]);
    });
  return command;
}

type Request = Awaited<ReturnType<typeof readRebuildRequest>>;
type Status = keyof typeof TEXTS;

const TEXTS = {
  none: 'No rebuild is requested.',
  requested: 'A rebuild is requested and has not started.',
  running: 'A rebuild is running.',
  failing: 'A rebuild failed and will be tried again.',
  given_up: 'A rebuild failed as often as allowed; `commonplace index rebuild` starts it again.',
} as const;

function statusOf(request: Request): Status {
  if (request === undefined) return 'none';
  if (request.deadAt !== undefined) return 'given_up';
  if (request.lease?.holder) return 'running';
  return request.failures === undefined ? 'requested' : 'failing';
}

async function withStore<T>(
  env: NodeJS.ProcessEnv,
  work: (store: Parameters<typeof readRebuildRequest>[0]) => Promise<T>,
): Promise<T> {
  const places = readPlaces(env);
  const beside = await openStoreBeside(places, 'search');
  if (beside === undefined) throw noDatabase(places.dataDir);
  try {
    return await work(beside.store);
  } finally {
    await beside.close();
  }
}
