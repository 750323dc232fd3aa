import { maxEntries } from '@commonplace/kit/cache';
import { unbounded } from '@commonplace/kit/deadline';
import { AppError, type Fault, invalidFields, Timeout, Unavailable } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { LostRace, type Store, type UnitOfWork } from '@commonplace/kit/store';
import type { Webhooks } from '@commonplace/platform/webhooks';
import { LRUCache } from 'lru-cache';
import type { Node } from '../domain/node.js';
import type { RowChange } from '../domain/row-change.js';
import { AlreadyResponded, FormNotFound, SubmissionLimitReached } from '../errors.js';
import { publishChange, publishRows } from '../events.js';
import type { Tree } from '../nodes/tree.js';
import type { TableKind } from '../tables/kind.js';
import type { PreparedAppend } from '../tables/writer.js';
import { type FileAttempt, isOver } from './attempts.js';
import type { Bindings, TableBinding } from './bindings.js';
import { type Captcha, type ProvenChallenge, spentFault, spentKey } from './captcha.js';
import { sendSubmitted } from './deliveries.js';
import { type FoundForm, isUnchanged, type KnownForms } from './known.js';
import { closedBy, refusalOf } from './open.js';
import type { FindMismatches } from './patterns.js';
import {
  type FormRecord,
  type FormStores,
  type FormTally,
  type ResponseClaim,
  type Submission,
  submissionKey,
  submissionsOf,
} from './records.js';
import { takeAnswers } from './take-answers.js';
import type { Answers } from './values.js';

/** A submission that waits to be written to its table, validated against the form as it was shortly before. */
export interface Entry {
  readonly context: CallContext;
  readonly form: FormRecord;
  /** Set if the submission was validated against a cached form and table instead of the stored ones. */
  readonly known: FoundForm | undefined;
  readonly binding: TableBinding;
  /** The field of the form that holds the hash of the token that the submission came with. */
  readonly field: 'tokenHash' | 'hookHash';
  readonly raw: Readonly<Record<string, unknown>>;
  readonly answers: Answers;
  /** Id under which the submission is recorded. */
  readonly submissionId: string;
  /** Ids under which it may have been recorded before; empty for a new one. */
  readonly knownAs: readonly string[];
  /** Keyed hash of the respondent, who may respond only once; undefined if the form has no such limit. */
  readonly claim: string | undefined;
  /** The challenge that the submission spends, if the form requires a captcha. */
  readonly captcha: ProvenChallenge | undefined;
  readonly archived: boolean;
  /** The attempt that has stored the submission's files, if it has any. */
  readonly attempt: FileAttempt | undefined;
  readonly metadata: string | undefined;
}

/** Writes submissions to their tables. */
export interface Batches {
  /**
   * Refuses what `add` would refuse now, such as a second response or a value that is not unique, and writes nothing.
   * Used before files are stored, so that a refused submission leaves none behind.
   */
  check(entry: Entry): Promise<void>;
  /**
   * Resolves with the recorded submission when it is durable; a repeated submission resolves with the first one.
   * Resolves with undefined, having written nothing, if the form differs from the cached one it was validated against.
   */
  add<K extends FoundForm | undefined>(
    entry: Entry & { readonly known: K },
  ): Promise<K extends undefined ? Submission : Submission | undefined>;
}

interface BatchParts {
  readonly store: Store;
  readonly forms: FormStores;
  readonly known: KnownForms;
  readonly captcha: Captcha;
  readonly tree: Tree;
  readonly table: TableKind;
  readonly bindings: Bindings;
  readonly deliveries: Webhooks;
  readonly findMismatches: FindMismatches;
}

interface WaitingEntry extends Entry {
  resolve(submission: Submission | undefined): void;
  reject(error: unknown): void;
}

interface Queue {
  readonly waiting: WaitingEntry[];
  /** Called for each submission that joins the queue. */
  joined: () => void;
}

/** Maximum number of rows that one commit adds. */
const MAX_BATCH_ROWS = 256;
const MAX_TRIES = 20;
/**
 * Milliseconds that a batch waits to reach the size of the previous one, because clients that were just answered may
 * submit again at once.
 */
const GATHER_MS = 5;
/** Number of forms whose last batch size is remembered. */
const MAX_KNOWN_SIZES = 10_000;
/** Maximum bytes of values in an event; larger values are omitted, and consumers read the row instead. */
const MAX_EVENT_VALUES_BYTES = 16 * 1024;

/**
 * Batches the submissions of one form that arrive during a commit into one unit of work: their rows are one write of
 * the table, which rewrites its last chunk each time, and one wait for the disk. Each submission is validated, counted
 * and refused by itself. If another process writes the same table, the batch is retried.
 */
export function createBatches(parts: BatchParts): Batches {
  const queues = new Map<string, Queue>();
  const sizes = new LRUCache<string, number>(maxEntries(MAX_KNOWN_SIZES));

  async function drain(formId: string, queue: Queue): Promise<void> {
    while (queue.waiting.length > 0) {
      await gathered(queue, sizes.get(formId) ?? 1);
      const batch = queue.waiting.splice(0, MAX_BATCH_ROWS);
      sizes.set(formId, batch.length);
      await settle(parts, formId, batch).catch((error) => {
        for (const entry of batch) entry.reject(error);
      });
    }
    queues.delete(formId);
  }

  return {
    check: (entry) =>
      new Promise((resolve, reject) => {
        rehearse(parts, { ...entry, resolve: () => resolve(), reject }).then(resolve, reject);
      }),
    add: (entry) =>
      new Promise((resolve, reject) => {
        const waiting: WaitingEntry = { ...entry, resolve: resolve as WaitingEntry['resolve'], reject };
        const queue = queues.get(entry.form.id);
        if (queue !== undefined) {
          queue.waiting.push(waiting);
          queue.joined();
          return;
        }
        const fresh: Queue = { waiting: [waiting], joined: () => {} };
        queues.set(entry.form.id, fresh);
        // A batch serves several calls, so it must not end with the deadline of the first.
        void unbounded(() => drain(entry.form.id, fresh));
      }),
  };
}

/** Waits until a batch has `entries` submissions, for at most GATHER_MS. */
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

/** Commits a batch and resolves or rejects every entry. Retries with backoff while other writers win the race. */
async function settle(parts: BatchParts, formId: string, batch: readonly WaitingEntry[]): Promise<void> {
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

/** Rejects an entry that could not be written now. */
async function rehearse(parts: BatchParts, entry: WaitingEntry): Promise<void> {
  const round = await prepare(parts, entry.form.id, [entry]);
  if (round.admitted.length > 0) await prepareRows(parts, round, parts.store.begin());
}

interface AdmittedEntry {
  readonly entry: WaitingEntry;
  readonly answers: Answers;
  readonly submission: Omit<Submission, 'version'> & { version: number };
}

interface Round {
  readonly form: FormRecord;
  readonly node: Node;
  readonly tally: FormTally | undefined;
  readonly admitted: AdmittedEntry[];
  /** Repeated submissions, each with the first one in this round. */
  readonly twins: [WaitingEntry, Submission][];
}

/** Reads the current form. Resolves or rejects the entries that need no write, and numbers the others. */
async function prepare(parts: BatchParts, formId: string, entries: readonly WaitingEntry[]): Promise<Round> {
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
  const spent = await spentOf(forms, formId, entries);
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
      const answers = await admit(parts, entry, {
        form,
        node,
        binding,
        claimed,
        spent,
        captcha: parts.captcha,
        number,
      });
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
      if (entry.captcha !== undefined) spent.add(spentKey(formId, entry.captcha));
      round.admitted.push({ entry, answers, submission });
    }
  }
  return { ...round, form, node, tally };
}

interface CurrentForm {
  readonly form: FormRecord;
  readonly node: Node;
  readonly binding: TableBinding;
  readonly claimed: ReadonlySet<string>;
  /** Keys of challenges that other submissions have spent. */
  readonly spent: ReadonlySet<string>;
  readonly captcha: Captcha;
  /** Number of submissions before this one. */
  readonly number: number;
}

/** Returns the answers of an entry if the form accepts them now; otherwise rejects the entry and returns undefined. */
async function admit(
  { store, findMismatches }: BatchParts,
  entry: WaitingEntry,
  { form, node, binding, claimed, spent, captcha, number }: CurrentForm,
): Promise<Answers | undefined> {
  try {
    if (entry.attempt !== undefined && isOver(entry.attempt, store.now())) throw Timeout();
    // A token that was rotated in the meantime is no longer valid.
    if (form[entry.field] !== entry.form[entry.field]) throw FormNotFound();
    const { archived } = entry;
    const state = { form, tally: { count: number }, binding, archived, locked: node.locked, now: Date.now() };
    const closed = closedBy(state);
    if (closed !== undefined) throw closed === 'full' ? SubmissionLimitReached() : refusalOf(closed);
    if (entry.claim !== undefined && claimed.has(entry.claim)) throw AlreadyResponded();
    if (entry.captcha !== undefined && spent.has(spentKey(form.id, entry.captcha))) {
      throw invalidFields([spentFault(captcha.issue(form.id))]);
    }
    if (entry.form.version === form.version && entry.binding.signature === binding.signature) return entry.answers;
    const again = await takeAnswers({ ...binding, tenant: form.tenant }, entry.raw, findMismatches);
    return { ...again, values: { ...again.values, ...entry.answers.values }, cells: withFiles(entry.answers, again) };
  } catch (error) {
    entry.reject(error);
    return undefined;
  }
}

/** Keeps the cells of files, which are stored already, for fields that the form still has. */
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

async function spentOf({ captchas }: FormStores, formId: string, entries: readonly Entry[]): Promise<Set<string>> {
  const asked = entries.flatMap(({ captcha }) => (captcha === undefined ? [] : [spentKey(formId, captcha)]));
  const found = asked.length === 0 ? [] : await captchas.getMany([...new Set(asked)]);
  return new Set(found.map(({ id }) => id));
}

const claimKey = (formId: string, claim: string): string => `${formId}.${claim}`;

/**
 * Writes a round in one unit of work. Returns false if rows were refused, so that the others must be numbered again.
 */
async function write(parts: BatchParts, round: Round): Promise<boolean> {
  const { store, forms, known, tree, bindings } = parts;
  const { form, node, tally, admitted } = round;
  const [{ entry: head }] = admitted as [AdmittedEntry];
  const work = store.begin();
  const actor = actorOf(form);
  const prepared = await prepareRows(parts, round, work);
  if (prepared === undefined) return false;
  const at = (admitted.at(-1) as AdmittedEntry).submission.submittedAt;
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
  const publisher = {
    work,
    event: (...args: Parameters<CallContext['event']>) => ({ ...head.context.event(...args), actor }),
  };
  publishChange(publisher, { verb: 'content.updated', fields: ['content'], reason: 'append' }, after);
  for (const one of admitted) {
    publishRows({ work, event: one.entry.context.event.bind(one.entry.context) }, rowOf(one), after, form.id);
    await note(parts, work, form, node, one);
  }
  await work.commit();
  prepared.committed();
  known.seen({ form, node: after });
  await bindings.note(form, after, prepared.columns);
  return true;
}

const actorOf = ({ id, config }: FormRecord) => ({ type: 'system', id, name: config.title }) as const;

/** Prepares the rows of a round. Returns undefined if some were refused. */
async function prepareRows({ table }: BatchParts, round: Round, work: UnitOfWork): Promise<PreparedAppend | undefined> {
  const rows = round.admitted.map(({ submission, answers }) => ({ id: submission.rowId, cells: answers.cells }));
  try {
    return await table.append(round.node, rows, { work, actor: actorOf(round.form), signal: NEVER });
  } catch (error) {
    if (refuseRows(error, round)) return undefined;
    throw error;
  }
}

/** Returns the row of a response as a change of the table. */
function rowOf({ submission, answers }: AdmittedEntry): RowChange[] {
  const columnIds = Object.keys(answers.cells).filter((id) => answers.cells[id] !== null && answers.cells[id] !== '');
  return [{ verb: 'row.created', rowIds: [submission.rowId], columnIds }];
}

const NEVER = new AbortController().signal;

/** Records one submission, and publishes its event and webhooks. */
async function note(
  { forms, deliveries }: BatchParts,
  work: UnitOfWork,
  form: FormRecord,
  node: Node,
  { entry, answers, submission }: AdmittedEntry,
): Promise<void> {
  const { version: _version, ...record } = submission;
  work.insert(forms.submissions, record);
  if (entry.attempt !== undefined) work.remove(forms.attempts, entry.attempt);
  if (entry.claim !== undefined)
    work.insert(forms.claims, { id: claimKey(form.id, entry.claim), tenant: form.tenant, formId: form.id });
  if (entry.captcha !== undefined) {
    const { expiresAt } = entry.captcha;
    const spent = { id: spentKey(form.id, entry.captcha), tenant: form.tenant, formId: form.id, expiresAt };
    work.insert(forms.captchas, spent);
  }
  const fitsInEvent = Buffer.byteLength(JSON.stringify(answers.values)) <= MAX_EVENT_VALUES_BYTES;
  const data = {
    formId: form.id,
    formTitle: form.config.title,
    resourceId: node.id,
    workspaceId: node.workspaceId,
    submissionId: submission.submissionId,
    rowId: submission.rowId,
    number: submission.number,
    values: fitsInEvent ? answers.values : {},
    valuesOmitted: !fitsInEvent,
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
    ...(!fitsInEvent && { values_omitted: true }),
    submitted_at: submission.submittedAt,
  };
  const { id, actor, time: at } = event;
  await sendSubmitted(deliveries, work, form, { id, actor, workspaceId: node.workspaceId, at, data: sent });
}

/**
 * Rejects the entries whose rows the table refused, for a value that is not unique or missing, and removes them from
 * the round. Returns false if the error is not about single rows.
 */
function refuseRows(error: unknown, { admitted, form }: Round): boolean {
  if (!(error instanceof AppError) || error.faults.length === 0) return false;
  const byRow = new Map<number, Fault[]>();
  for (const { row, column_id: columnId = '', code, param, message } of error.faults) {
    if (row === undefined) return false;
    const field = form.config.fields.find((one) => one.column_id === columnId);
    const fault = {
      param: `values.${field?.id ?? columnId}`,
      code: code === 'cell_invalid' ? 'invalid_value' : code,
      // The message names the cell; a respondent knows the field alone.
      message: message.startsWith(param) ? message.slice(param.length).replace(/^:? /, '') : message,
    };
    byRow.set(row, [...(byRow.get(row) ?? []), fault]);
  }
  for (const [row, faults] of byRow) admitted[row]?.entry.reject(invalidFields(faults));
  admitted.splice(0, admitted.length, ...admitted.filter((_, row) => !byRow.has(row)));
  return true;
}
