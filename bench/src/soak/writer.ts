import { randomInt } from 'node:crypto';
import type { Answer, Client } from '../http.js';
import type { KnownDocument } from './known.js';
import {
  acknowledged,
  changeOperation,
  createOperation,
  type Operation,
  oneOf,
  send,
  type WorkArea,
} from './operations.js';

/** The knowledge of the clients in one round: their documents and the operations on them. */
export interface Ledger {
  readonly workArea: WorkArea;
  /** States of documents by id, according to the last answer about each. */
  readonly documents: Map<string, KnownDocument>;
  readonly done: { readonly operation: Operation; readonly after: KnownDocument }[];
  /** Names that documents had before. */
  readonly formerNames: { readonly id: string; readonly name: string }[];
  /** Unexpected error answers. */
  readonly refusals: string[];
}

export function createLedger(workArea: WorkArea): Ledger {
  return { workArea, documents: new Map(), done: [], formerNames: [], refusals: [] };
}

/** Percentage of a writer's operations that create a document. */
const CREATIONS = 35;

/**
 * Writes until an answer is missing. Returns the operation whose outcome is unknown; undefined if the writer was
 * stopped. Only this writer changes the documents that it creates, so it knows each version in advance.
 */
export async function runWriter(
  client: Client,
  ledger: Ledger,
  stopped: () => boolean = () => false,
): Promise<Operation | undefined> {
  const own: string[] = [];
  while (!stopped()) {
    const known = own.length === 0 || randomInt(100) < CREATIONS ? undefined : ledger.documents.get(oneOf(own));
    const operation = known === undefined ? createOperation(ledger.workArea) : changeOperation(known, ledger.workArea);
    const answer = await send(client, operation).catch(() => undefined);
    if (answer === undefined || answer.status >= 500) return operation;
    const after = take(ledger, operation, answer);
    if (after === undefined) return undefined;
    if (operation.kind === 'create') own.push(after.id);
  }
  return undefined;
}

/** Records an answer. Returns the state of the document after it; undefined if the answer is an error. */
export function take(ledger: Ledger, operation: Operation, answer: Answer): KnownDocument | undefined {
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
