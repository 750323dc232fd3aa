import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Client } from '../http.js';
import type { Ledger } from './writer.js';

/** A name, the document that it is asked about, and whether searching has to find it by that name. */
interface Question {
  readonly name: string;
  readonly id: string;
  readonly found: boolean;
}

/** Questions of each kind in a round. */
const SAMPLE = 12;
/** Searching agrees with what is written within that. */
const PATIENCE_MS = 5000;
const WIDTH = 8;

export interface Agreement {
  /** Milliseconds until searching agreed. */
  readonly took: number;
  readonly faults: readonly string[];
}

/** Asks by unique words until search and store agree, 5 s at the most unless told otherwise. */
export async function searchAgrees(client: Client, ledger: Ledger, patienceMs = PATIENCE_MS): Promise<Agreement> {
  const { workspaceId } = ledger.ground;
  const started = performance.now();
  let open = questionsOf(ledger);
  for (;;) {
    const wrong = await forEach(open, WIDTH, async (question) => {
      const body = { query: question.name, mode: 'keyword', workspace_ids: [workspaceId], limit: 10 };
      const { items } = await client.ask<{ items: { resource: { id: string } }[] }>('POST', '/search', body);
      return items.some(({ resource }) => resource.id === question.id) !== question.found;
    });
    open = open.filter((_, i) => wrong[i]);
    const took = performance.now() - started;
    if (open.length === 0) return { took, faults: [] };
    if (took > patienceMs) {
      const fault = ({ id, name, found }: Question) => `${id} is ${found ? 'not found' : 'still found'} by ${name}`;
      return { took, faults: open.map(fault) };
    }
    await sleep(50);
  }
}

/** The last documents of each kind, which the index is most behind with. */
function questionsOf({ documents, formerNames }: Ledger): Question[] {
  const all = [...documents.values()].map(({ id, name, state }) => ({
    id,
    name: wordOf(name),
    found: state === 'active',
  }));
  const former = formerNames.map(({ id, name }) => ({ id, name: wordOf(name), found: false }));
  const kinds = [all.filter(({ found }) => found), all.filter(({ found }) => !found), former];
  return kinds.flatMap((kind) => kind.slice(-SAMPLE));
}

/** The part of a name that no other has. */
function wordOf(name: string): string {
  return name.split(' ').at(-1) ?? '';
}
