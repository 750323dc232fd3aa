import { unbounded } from '@commonplace/kit/deadline';
import { AppError, type Fault, Timeout, Unavailable } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { LostRace, type Store, type UnitOfWork } from '@commonplace/kit/store';
import type { Webhooks } from '@commonplace/kit/webhooks';
import { LRUCache } from 'lru-cache';
import { AlreadyResponded, FormNotFound, SubmissionLimitReached } from '../errors.js';
import { publishChange } from '../events.js';
import {
  type FormRecord,
  type FormStores,
  type FormTally,
  type ResponseClaim,
  type Submission,
  submissionKey,
  submissionsOf,
} from '../stores/forms.js';
import type { Node } from '../stores/nodes.js';
import type { Tree } from '../stores/tree.js';
import type { PreparedAppend, TableKind } from '../tables/kind.js';
import type { Bindings, TableBinding } from './bindings.js';
import { sendSubmitted } from './deliveries.js';
import { type FoundForm, isUnchanged, type KnownForms } from './known.js';
import { closedBy, refusalOf } from './open.js';
import { type Answers, submissionFaults, takeValues } from './values.js';

/** A submission on its way to the table, checked against the form as it was a moment ago. */
export interface Entry {
  readonly context: CallContext;
  readonly form: FormRecord;
  /** Set where it was checked against what was known of form and table, not against what they are. */
  readonly known: FoundForm | undefined;
  readonly binding: TableBinding;
  /** By the token that it came with. */
  readonly field: 'tokenHash' | 'hookHash';
  readonly raw: Readonly<Record<string, unknown>>;
  readonly answers: Answers;
  /** Under which it is noted. */
  readonly submissionId: string;
  /** Ids under which it may have been noted before; none for a new one. */
  readonly knownAs: readonly string[];
  /** Whose one response it is. */
  readonly claim: string | undefined;
  readonly archived: boolean;
  readonly metadata: string | undefined;
}

/** Puts submissions into their tables. */
export interface Batches {
  /**
   * Resolves when the submission is durable, with what is noted of it; with the first, where it is a repeated one.
   * Undefined where the form is not the known one that it was checked against any more, and nothing was done.
   */
  add<K extends FoundForm | undefined>(
    entry: Entry & { readonly known: K },
  ): Promise<K extends undefined ? Submission : Submission | undefined>;
}

export interface BatchParts {
  readonly store: Store;
  readonly forms: FormStores;
  readonly known: KnownForms;
  readonly tree: Tree;
  readonly table: TableKind;
  readonly bindings: Bindings;
  readonly deliveries: Webhooks;
}

interface Waiting extends Entry {
  resolve(submission: Submission | undefined): void;
  reject(error: unknown): void;
}

interface Queue {
  readonly waiting: Waiting[];
  /** Is told of each that joins. */
  joined: () => void;
}

/** Rows that one commit adds. */
const MOST_AT_ONCE = 256;
const MAX_TRIES = 20;
/** Milliseconds that a batch waits for as many as the one before had: whoever was answered then may be back at once. */
const GATHER_MS = 5;
/** Forms whose last batch is remembered. */
const KNOWN_SIZES = 10_000;
/** Bytes of values that an event tells; more are left out, for who wants them reads the row. */
const EVENT_VALUES = 16 * 1024;

/**
 * Submissions of one form that come while others are being committed go in one unit of work: their rows are one
 * write of the table, whose last chunk is written anew each time, and one wait for the disk. Each is checked, counted
 * and refused by itself. Another process that writes the same table makes the batch run again.
 */
export function createBatches(parts: BatchParts): Batches {
  const queues = new Map<string, Queue>();
  const sizes = new LRUCache<string, number>({ max: KNOWN_SIZES });

  async function drain(formId: string, queue: Queue): Promise<void> {
    while (queue.waiting.length > 0) {
      await gathered(queue, sizes.get(formId) ?? 1);
      const batch = queue.waiting.splice(0, MOST_AT_ONCE);
      sizes.set(formId, batch.length);
      await settle(parts, formId, batch).catch((error) => {
        for (const entry of batch) entry.reject(error);
      });
    }
    queues.delete(formId);
  }

  return {
    add: (entry) =>
      new Promise((resolve, reject) => {
        const waiting: Waiting = { ...entry, resolve: resolve as Waiting['resolve'], reject };
        const queue = queues.get(entry.form.id);
        if (queue !== undefined) {
          queue.waiting.push(waiting);
          queue.joined();
          return;
        }
        const fresh: Queue = { waiting: [waiting], joined: () => {} };
        queues.set(entry.form.id, fresh);
        // A batch is of several calls: it is not over with the first of them.
        void unbounded(() => drain(entry.form.id, fresh));
      }),
  };
}

/** Waits until a batch has a number of entries, but not long. */
async function gathered(queue: Queue, entries: number): Promise<void> {
  if (queue.waiting.length >= entries) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, GATHER_MS);
    queue.joined = () => {
      if (queue.waiting.length < entries) return;
      clearTimeout(timer);
      resolve();
    };
  });
  queue.joined = () => {};
}

/** Commits a batch, again as long as others are faster; settles every entry. */
async function settle(parts: BatchParts, formId: string, batch: readonly Waiting[]): Promise<void> {
  let left = batch.filter((entry) => {
    if (entry.context.deadline > Date.now()) return true;
    entry.reject(Timeout());
    return false;
  });
  for (let tries = 1; left.length > 0; tries++) {
    const round = await prepare(parts, formId, left);
    if (round.admitted.length === 0) return;
    try {
      const written = await write(parts, round);
      left = [...round.admitted.map(({ entry }) => entry), ...round.twins.map(([entry]) => entry)];
      if (!written) continue;
      for (const { entry, submission } of round.admitted) entry.resolve(submission);
      for (const [entry, first] of round.twins) entry.resolve(first);
      return;
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
      if (tries === MAX_TRIES) throw Unavailable({}, { retryAfter: 1, cause: error });
      left = [...round.admitted.map(({ entry }) => entry), ...round.twins.map(([entry]) => entry)];
      await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** tries, 100)));
    }
  }
}

interface Admitted {
  readonly entry: Waiting;
  readonly answers: Answers;
  readonly submission: Omit<Submission, 'version'> & { version: number };
}

interface Round {
  readonly form: FormRecord;
  readonly node: Node;
  readonly tally: FormTally | undefined;
  readonly admitted: Admitted[];
  /** Repeated ones, each with its first in this round. */
  readonly twins: [Waiting, Submission][];
}

/** Looks at the form as it is now: what can be settled without a write is, the others are numbered. */
async function prepare(parts: BatchParts, formId: string, entries: readonly Waiting[]): Promise<Round> {
  const { forms, tree, bindings } = parts;
  const form = await forms.forms.get(formId);
  const node = form && (await tree.get(form.resourceId));
  const round: Round = { form: form as FormRecord, node: node as Node, tally: undefined, admitted: [], twins: [] };
  if (form === undefined || node === undefined || node.state === 'trashed') {
    for (const entry of entries) entry.reject(FormNotFound());
    return round;
  }
  const tally = await forms.tallies.get(formId);
  const binding = await bindings.of(form, node);
  const known = await knownOf(forms, formId, entries);
  const claimed = await claimedOf(forms, formId, entries);
  const first = new Map<string, Submission>();
  const at = new Date().toISOString();
  let number = tally?.count ?? 0;
  for (const entry of entries) {
    const { submissionId: id, knownAs } = entry;
    if (entry.known !== undefined && !isUnchanged(entry.known, { form, node })) {
      entry.resolve(undefined);
      continue;
    }
    const before = knownAs.map((one) => known.get(one)).find((one) => one !== undefined);
    const twin = first.get(id);
    if (before !== undefined) entry.resolve(before);
    else if (twin !== undefined) round.twins.push([entry, twin]);
    else {
      const answers = admit(entry, { form, node, binding, claimed, number });
      if (answers === undefined) continue;
      number++;
      const submission = {
        id: submissionKey(formId, id),
        version: 1,
        tenant: form.tenant,
        formId,
        submissionId: id,
        rowId: newId(),
        number,
        submittedAt: at,
        ...(entry.metadata !== undefined && { metadata: entry.metadata }),
      };
      first.set(id, submission);
      if (entry.claim !== undefined) claimed.add(entry.claim);
      round.admitted.push({ entry, answers, submission });
    }
  }
  return { ...round, form, node, tally };
}

interface Now {
  readonly form: FormRecord;
  readonly node: Node;
  readonly binding: TableBinding;
  readonly claimed: ReadonlySet<string>;
  /** Submissions before this one. */
  readonly number: number;
}

/** The answers of an entry that the form takes now; undefined where it was refused. */
function admit(entry: Waiting, { form, node, binding, claimed, number }: Now): Answers | undefined {
  try {
    // A token that was rotated meanwhile is worth nothing.
    if (form[entry.field] !== entry.form[entry.field]) throw FormNotFound();
    const state = { form, tally: { count: number }, archived: entry.archived, locked: node.locked, now: Date.now() };
    const closed = closedBy(state);
    if (closed !== undefined) throw closed === 'full' ? SubmissionLimitReached() : refusalOf(closed);
    if (entry.claim !== undefined && claimed.has(entry.claim)) throw AlreadyResponded();
    if (entry.form.version === form.version && entry.binding.signature === binding.signature) return entry.answers;
    const again = takeValues(binding.fields, binding.disabled, entry.raw);
    return { ...again, values: { ...again.values, ...entry.answers.values }, cells: withFiles(entry.answers, again) };
  } catch (error) {
    entry.reject(error);
    return undefined;
  }
}

/** Files are stored already: their cells stay, as far as the form still asks for them. */
function withFiles(before: Answers, again: Answers): Record<string, unknown> {
  const cells = { ...again.cells };
  for (const { field } of again.files) {
    const id = field.column?.id ?? '';
    if (before.cells[id] !== undefined) cells[id] = before.cells[id];
  }
  return cells;
}

async function knownOf(forms: FormStores, formId: string, entries: readonly Entry[]) {
  const found = await submissionsOf(forms, formId, [...new Set(entries.flatMap(({ knownAs }) => knownAs))]);
  return new Map(found.map((submission) => [submission.submissionId, submission]));
}

async function claimedOf({ claims }: FormStores, formId: string, entries: readonly Entry[]): Promise<Set<string>> {
  const asked = entries.flatMap(({ claim }) => (claim === undefined ? [] : [claimKey(formId, claim)]));
  const found: ResponseClaim[] = asked.length === 0 ? [] : await claims.getMany([...new Set(asked)]);
  return new Set(found.map(({ id }) => id.slice(formId.length + 1)));
}

const claimKey = (formId: string, claim: string): string => `${formId}.${claim}`;

/** Writes a round as one unit. Gives false where rows were refused, and the others are to be numbered again. */
async function write(parts: BatchParts, round: Round): Promise<boolean> {
  const { store, forms, known, tree, table, bindings } = parts;
  const { form, node, tally, admitted } = round;
  const [{ entry: head }] = admitted as [Admitted];
  const work = store.begin();
  const actor = { type: 'system', id: form.id, name: form.config.title } as const;
  const rows = admitted.map(({ submission, answers }) => ({ id: submission.rowId, cells: answers.cells }));
  let prepared: PreparedAppend;
  try {
    prepared = await table.append(node, rows, { work, actor, signal: NEVER });
  } catch (error) {
    if (refuseRows(error, round)) return false;
    throw error;
  }
  const at = (admitted.at(-1) as Admitted).submission.submittedAt;
  const after = work.replace(tree.nodes, node, {
    ...node,
    sizeBytes: prepared.sizeBytes,
    contentVersion: node.contentVersion + 1,
    written: { at, by: actor, credential: `form_${form.id}` },
    updatedAt: at,
    updatedBy: actor,
  });
  await prepared.apply();
  work.expect(forms.forms, form);
  const count = (tally?.count ?? 0) + admitted.length;
  const counted = { id: form.id, tenant: form.tenant, count, lastSubmittedAt: at };
  if (tally === undefined) work.insert(forms.tallies, counted);
  else work.replace(forms.tallies, tally, counted);
  const speaks = {
    work,
    event: (...said: Parameters<CallContext['event']>) => ({ ...head.context.event(...said), actor }),
  };
  publishChange(speaks, { verb: 'content.updated', fields: ['content'], reason: 'append' }, after);
  for (const one of admitted) await note(parts, work, form, node, one);
  await work.commit();
  prepared.committed();
  known.seen({ form, node: after });
  await bindings.note(form, after, prepared.columns);
  return true;
}

const NEVER = new AbortController().signal;

/** What is noted and told of one submission. */
async function note(
  { forms, deliveries }: BatchParts,
  work: UnitOfWork,
  form: FormRecord,
  node: Node,
  { entry, answers, submission }: Admitted,
): Promise<void> {
  const { version: _version, ...record } = submission;
  work.insert(forms.submissions, record);
  if (entry.claim !== undefined)
    work.insert(forms.claims, { id: claimKey(form.id, entry.claim), tenant: form.tenant, formId: form.id });
  const told = Buffer.byteLength(JSON.stringify(answers.values)) <= EVENT_VALUES;
  const data = {
    formId: form.id,
    formTitle: form.config.title,
    resourceId: node.id,
    workspaceId: node.workspaceId,
    submissionId: submission.submissionId,
    rowId: submission.rowId,
    number: submission.number,
    values: told ? answers.values : {},
    valuesOmitted: !told,
    submittedAt: submission.submittedAt,
    notifyUserIds: form.config.notify_user_ids,
  };
  const event = entry.context.event('form.submitted', node.id, data, form.tenant);
  work.publish(event);
  const sent = {
    form_id: form.id,
    resource_id: node.id,
    submission_id: submission.submissionId,
    row_id: submission.rowId,
    values: data.values,
    ...(!told && { values_omitted: true }),
    submitted_at: submission.submittedAt,
  };
  const { id, actor, time: at } = event;
  await sendSubmitted(deliveries, work, form, { id, actor, workspaceId: node.workspaceId, at, data: sent });
}

/** Refuses those whose row the table does not take: a value that has to be unique, a column that must not be empty. */
function refuseRows(error: unknown, { admitted, form }: Round): boolean {
  if (!(error instanceof AppError) || error.faults.length === 0) return false;
  const byRow = new Map<number, Fault[]>();
  for (const { row, column_id: columnId = '', code, message } of error.faults) {
    if (row === undefined) return false;
    const field = form.config.fields.find((one) => one.column_id === columnId);
    const fault = {
      param: `values.${field?.id ?? columnId}`,
      code: code === 'cell_invalid' ? 'invalid_value' : code,
      message,
    };
    byRow.set(row, [...(byRow.get(row) ?? []), fault]);
  }
  for (const [row, faults] of byRow) admitted[row]?.entry.reject(submissionFaults(faults));
  admitted.splice(0, admitted.length, ...admitted.filter((_, row) => !byRow.has(row)));
  return true;
}
