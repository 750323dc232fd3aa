import { openClient } from '../../http.js';
import { startSystem } from '../../system.js';
import { readDocuments } from '../runs/charges.js';
import type { Tally } from '../tally.js';
import { soakCuts } from './cuts.js';
import { soakOrder } from './order.js';
import type { Subject } from './subject.js';

const CONNECTIONS = 16;
/** One kill while runs wait for each other per this many other kills. */
const ORDER_SHARE = 10;

/**
 * Kills the embedded system while automations run. Checks that every effect happens once, in the order of the triggers.
 */
export async function soakAutomations(rounds: number, home: string, tally: Tally): Promise<void> {
  const settings = { COMMONPLACE_SAMPLE: '0' };
  let system = await startSystem({ home, settings });
  const port = Number(new URL(system.baseUrl).port);
  let client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
  const subject: Subject = {
    name: 'automations in one process',
    client: () => client,
    async crash(meanwhile) {
      await system.kill();
      client.close();
      await meanwhile();
      system = await startSystem({ home, port, settings });
      client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
    },
    records: async (service, collection) => readDocuments(home, `${service}__${collection}`),
  };
  try {
    await soakCuts(subject, rounds, tally);
    await soakOrder(subject, Math.ceil(rounds / ORDER_SHARE), tally);
  } finally {
    client.close();
    await system.stop();
  }
}
