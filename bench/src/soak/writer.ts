import { randomInt } from 'node:crypto';
import type { Answer, Client } from '../http.js';
import type { Known } from './known.js';
import {
  acknowledged,
  changeOperation,
  createOperation,
  type Ground,
  type Operation,
  oneOf,
  send,
} from './operations.js';

/** What the clients of one round know: their documents, and the operations behind them. */
export interface Ledger {
  readonly ground: Ground;
  /** Documents as they are by the last answer about each. */
  readonly documents: Map<string, Known>;
  readonly done: { readonly operation: Operation; readonly after: Known }[];
  /** Names that documents had before. */
  readonly formerNames: { readonly id: string; readonly name: string }[];
  /** Answers that no operation should get. */
  readonly refusals: string[];
}

export function createLedger(ground: Ground): Ledger {
  return { ground, documents: new Map(), done: [], formerNames: [], refusals: [] };
}

/** Of a writer's operations, that many of 100 make a new document. */
const CREATIONS = 35;

/**
 * Writes until there is no answer any more, and gives the operation whose outcome is not known; none where it is stopped.
 * It alone changes the documents that it makes, so that it knows each version beforehand.
 */
export async function runWriter(
  client: Client,
  ledger: Ledger,
  stopped: () => boolean = () => false,
): Promise<Operation | undefined> {
  const own: string[] = [];
  while (!stopped()) {
    const known = own.length === 0 || randomInt(100) < CREATIONS ? undefined : ledger.documents.get(oneOf(own));
    const operation = known === undefined ? createOperation(ledger.ground) : changeOperation(known, ledger.ground);
    const answer = await send(client, operation).catch(() => undefined);
    if (answer === undefined || answer.status >= 500) return operation;
    const after = take(ledger, operation, answer);
    if (after === undefined) return undefined;
    if (operation.kind === 'create') own.push(after.id);
  }
  return undefined;
}

/** Notes down an answer; gives the document after it, or nothing where the answer is a refusal. */
export function take(ledger: Ledger, operation: Operation, answer: Answer): Known | undefined {
  const { kind, path, before } = operation;
  if (answer.status >= 300) {
    ledger.refusals.push(`${kind} ${path} answers ${answer.status}: ${answer.text.slice(0, 300)}`);
    return undefined;
  }
  try {
    const after = acknowledged(operation, answer);
    ledger.documents.set(after.id, after);
    ledger.done.push({ operation, after });
    if (kind === 'rename' && before !== undefined) ledger.formerNames.push({ id: after.id, name: before.name });
    return after;
  } catch (error) {
    ledger.refusals.push(String(error));
    return undefined;
  }
}
