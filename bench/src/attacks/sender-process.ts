// Sends the requests of one attack from a process of its own, so that the cost of sending them is not attributed to the
// server.
import { lowerProcessPriority } from '@commonplace/kit/priority';
import { ATTACKS } from './attacks.js';
import type { SenderCommand, SenderReport } from './sender.js';
import { openPlace } from './world.js';

/**
 * OS priority (niceness) of the sender. It is low, because on a real network the sender would not share processors with
 * the server.
 */
const NICE = 10;
lowerProcessPriority(NICE);

let isOver = false;
let sending: Promise<unknown> = Promise.resolve();
const statuses: Record<number, number> = {};

function report(message: SenderReport): void {
  process.send?.(message);
}

async function prepare({ attack, place, width }: Extract<SenderCommand, { attack: string }>): Promise<void> {
  const found = ATTACKS.find(({ name }) => name === attack);
  if (found === undefined) throw new Error(`there is no attack ${attack}`);
  const send = await found.prepare(openPlace(place));
  report('ready');
  const sendOn = async () => {
    while (!isOver) {
      const { status } = await send();
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  sending = Promise.all(Array.from({ length: width }, sendOn));
}

process.on('message', (command: SenderCommand) => {
  if (command !== 'stop') {
    sending = prepare(command);
    return;
  }
  isOver = true;
  void sending.then(() => {
    report({ statuses });
    process.disconnect();
    process.exit(0);
  });
});
