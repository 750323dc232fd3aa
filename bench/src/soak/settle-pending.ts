import type { Client } from '../http.js';
import type { KnownDocument, Resource } from './known.js';
import { type Operation, send } from './operations.js';
import { compare } from './read-back.js';
import { type Ledger, take } from './writer.js';

interface PendingOutcome {
  /** Whether the operation took effect although it was not answered. */
  readonly happened: boolean;
  readonly faults: readonly string[];
}

/**
 * Determines the outcome of an unanswered operation, then sends it twice more with its idempotency key. Checks that it
 * had happened completely or not at all, and that it has happened once in the end.
 */
export async function settlePending(client: Client, ledger: Ledger, operation: Operation): Promise<PendingOutcome> {
  const { happened, faults } = await observe(client, operation);
  const first = await send(client, operation);
  const after = take(ledger, operation, first);
  if (after === undefined) return { happened, faults };
  const second = await send(client, operation);
  const about = `${operation.kind} of ${after.id}`;
  const wrong = (what: string, is: boolean) => (is ? [`${about}: ${what}`] : []);
  return {
    happened,
    faults: [
      ...faults,
      ...wrong('happened, and its retry was no replay', happened && !isReplay(first)),
      ...wrong('had not happened, and its retry was a replay', !happened && isReplay(first)),
      ...wrong('its second retry was no replay', !isReplay(second)),
      ...wrong('its retries differ', idIn(first.text) !== idIn(second.text)),
      ...(await compare(client, after)).map((fault) => `${about}, sent again: ${fault}`),
      ...(await countNamed(client, after)),
    ],
  };
}

/** Number of writes that were answered before the crash and are sent again. */
const REPEATED = 8;

/**
 * Sends the last acknowledged writes again with their idempotency keys. Checks that each gets its first answer and has
 * no further effect. Documents with another, unanswered write are left out, because that write may have moved them to
 * the trash.
 */
export async function repeatAcknowledged(
  client: Client,
  { done, documents }: Ledger,
  unsure: ReadonlySet<string | undefined>,
): Promise<string[]> {
  const isLast = (after: KnownDocument) => documents.get(after.id) === after && !unsure.has(after.id);
  const last = done.filter(({ after }) => isLast(after)).slice(-REPEATED);
  const answers = await Promise.all(last.map(({ operation }) => send(client, operation)));
  return last.flatMap(({ operation, after }, i) => {
    const answer = answers[i];
    if (answer !== undefined && answer.status < 300 && isReplay(answer)) return [];
    return [`${operation.kind} of ${after.id} was acknowledged, and its retry was no replay: ${answer?.status}`];
  });
}

function isReplay({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): boolean {
  return headers['idempotency-replayed'] === 'true';
}

function idIn(text: string): string | undefined {
  return (JSON.parse(text) as { data: Partial<Resource> }).data.id;
}

/** Returns whether an operation took effect, and faults if it did so only partly. */
async function observe(client: Client, { kind, before, after }: Operation): Promise<PendingOutcome> {
  if (before === undefined) {
    const found = await named(client, after);
    const [first] = found;
    if (first === undefined) return { happened: false, faults: [] };
    const faults = await compare(client, { ...after, id: first.id });
    return { happened: true, faults: faults.map((fault) => `${kind} of ${first.id}, half done: ${fault}`) };
  }
  const undone = await compare(client, before);
  if (undone.length === 0) return { happened: false, faults: [] };
  const done = await compare(client, after);
  return { happened: true, faults: done.map((fault) => `${kind} of ${after.id}, half done: ${fault}`) };
}

async function countNamed(client: Client, known: KnownDocument): Promise<string[]> {
  if (known.state === 'trashed') return [];
  const found = await named(client, known);
  return found.length === 1 ? [] : [`${known.name} is there ${found.length} times`];
}

async function named(client: Client, { workspaceId, name }: KnownDocument): Promise<Resource[]> {
  const path = `/workspaces/${workspaceId}/resources?limit=10&q=${encodeURIComponent(name)}`;
  return (await client.ask<{ items: Resource[] }>('GET', path)).items;
}
