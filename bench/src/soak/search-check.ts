import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Client } from '../http.js';
import type { Ledger } from './writer.js';

/** A name, a document, and whether a search for the name has to find the document. */
interface Question {
  readonly name: string;
  readonly id: string;
  readonly found: boolean;
}

/** Number of questions of each kind in a round. */
const SAMPLE = 12;
/** Milliseconds within which searches must agree with the written data. */
const TIMEOUT_MS = 5000;
const WIDTH = 8;

interface Agreement {
  /** Milliseconds until the searches agreed. */
  readonly took: number;
  readonly faults: readonly string[];
}

/** Searches for unique words until the index agrees with the store, for at most `timeoutMs` milliseconds. */
export async function searchAgrees(client: Client, ledger: Ledger, timeoutMs = TIMEOUT_MS): Promise<Agreement> {
  const { workspaceId } = ledger.workArea;
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
    if (took > timeoutMs) {
      const fault = ({ id, name, found }: Question) => `${id} is ${found ? 'not found' : 'still found'} by ${name}`;
      return { took, faults: open.map(fault) };
    }
    await sleep(50);
  }
}

/** Returns questions about the last documents of each kind, because these are indexed last. */
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

/** Returns the unique word in a name. */
function wordOf(name: string): string {
  return name.split(' ').at(-1) ?? '';
}
