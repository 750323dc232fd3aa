import { type Document, MongoClient } from 'mongodb';
import { soakCuts } from '../automations/cuts.js';
import { soakOrder } from '../automations/order.js';
import type { Subject } from '../automations/subject.js';
import type { Tally } from '../tally.js';
import type { Mesh } from './mesh.js';

const REPLICAS = 3;
/** One kill while runs wait for each other per this many other kills. */
const ORDER_SHARE = 3;

/** Returns the fields of a record. The store contains objects as JSON, which is parsed. */
function plain(fields: Document): object {
  const entries = Object.entries(fields).map(([name, value]) => {
    const { json } = (value ?? {}) as { json?: unknown };
    return [name, typeof json === 'string' ? JSON.parse(json) : value];
  });
  return Object.fromEntries(entries);
}

/**
 * Kills one of three processes after another while automations run, `rounds` times. Checks that every effect happens
 * once, in the order of the triggers.
 */
export async function soakMeshAutomations(mesh: Mesh, rounds: number, tally: Tally): Promise<void> {
  while (mesh.pods('automations').length < REPLICAS) await mesh.add('automations');
  const client = mesh.balancer.client(mesh.apiKey);
  const store = await new MongoClient(mesh.servers.mongodbUrl).connect();
  const subject: Subject = {
    name: `automations in ${REPLICAS} processes of a mesh`,
    client: () => client,
    async crash(meanwhile) {
      // New processes are appended, so that each has its turn.
      const [oldest] = mesh.pods('automations');
      if (oldest === undefined) throw new Error('Nobody carries out automations.');
      await mesh.kill(oldest);
      await meanwhile();
      await mesh.add('automations');
    },
    async records<T>(service: string, collection: string) {
      const all = await store.db(`commonplace_${service}`).collection<Document>(collection).find({}).toArray();
      return all.map(({ _id, ...rest }) => ({ id: String(_id), ...plain(rest) }) as T);
    },
  };
  try {
    await soakCuts(subject, rounds, tally);
    await soakOrder(subject, Math.ceil(rounds / ORDER_SHARE), tally);
  } finally {
    await store.close();
  }
}
