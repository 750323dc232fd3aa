import { openNatsBus } from '../../src/nats/index.js';

/**
 * A separate process for tests that kill one. It subscribes, reports each event that it starts, and exits abruptly or
 * hangs at the event that its arguments name.
 */
const [url, stream, consumer, at, how] = process.argv.slice(2) as [string, string, string, string, string];
const bus = await openNatsBus({ url, stream });
await bus.subscribe({ consumer, types: ['commonplace.>'], maxAttempts: 1 }, async ([event]) => {
  process.send?.(event?.data);
  if (event?.data.n !== Number(at)) return;
  if (how === 'exit') process.exit(1);
  await new Promise(() => {});
});
process.send?.('ready');
