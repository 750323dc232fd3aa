import type { Actor } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import { fingerprint, newId } from '@commonplace/kit/id';
import { inWork, replaceChanged, type UnitOfWork } from '@commonplace/kit/store';
import { normalised } from '../domain/normalised.js';
import { indexTerms } from '../domain/words.js';
import type { Parts } from '../parts.js';
import { type MemoryRecord, placeOf, type Revision, termWithin } from '../stores/memories.js';
import { holderOf, isExpired } from './access.js';

type WriteParts = Pick<Parts, 'memories' | 'quotas' | 'store'>;

type Derived =
  | 'id'
  | 'version'
  | 'holder'
  | 'textKey'
  | 'terms'
  | 'place'
  | 'hasSources'
  | 'createdAt'
  | 'updatedAt'
  | 'updatedBy';
type UsageFields = 'revisions' | 'usedCount' | 'lastUsedMs';

/** A new memory with its place. */
export type MemoryDraft = Omit<MemoryRecord, Derived | UsageFields>;

interface Written {
  readonly memory: MemoryRecord;
  /** False if a memory with the same normalized text exists, which is returned instead. */
  readonly isNew: boolean;
}

/** Returns whether the person who writes a memory can read all sources of another one. */
export type SeesSources = (memory: MemoryRecord) => Promise<boolean>;

/**
 * Adds a memory in a unit of work, unless its holder has one with the same normalized text that the person can read. If
 * two units of work add the same text concurrently, the second commit rejects with `UniqueTaken`. Throws
 * `limit_reached` if the holder has too many memories.
 */
export async function addMemory(
  parts: WriteParts,
  draft: MemoryDraft,
  work: UnitOfWork,
  sees: SeesSources,
): Promise<Written> {
  const holder = holderOf(draft);
  const { textKey, same } = await chooseTextKey(parts, { ...draft, holder }, sees);
  if (same !== undefined) return { memory: same, isNew: false };
  await parts.quotas.memories.reserve(work, holder);
  const now = new Date().toISOString();
  const counted = { revisions: [], usedCount: 0, lastUsedMs: 0 };
  const changed = { updatedBy: draft.createdBy, createdAt: now, updatedAt: now };
  const record = { ...draft, ...counted, id: newId(), holder, ...changed };
  return { memory: work.insert(parts.memories, { ...record, ...derived(record), textKey }), isNew: true };
}

/** The fields that a person or a tool may change. */
export type MemoryChange = Partial<
  Pick<
    MemoryRecord,
    | 'content'
    | 'kind'
    | 'tags'
    | 'importance'
    | 'isPinned'
    | 'status'
    | 'isTainted'
    | 'sourceIds'
    | 'metadata'
    | 'expiresAt'
    | 'subjectId'
    | 'appendedBy'
  >
>;

/** Maximum number of earlier texts that are kept. */
const MAX_REVISIONS = 20;

/**
 * Changes a memory in a unit of work. Throws `already_exists` if its holder has another memory with the new text that
 * the person can read.
 */
export async function changeMemory(
  parts: WriteParts,
  before: MemoryRecord,
  change: MemoryChange,
  changedBy: Actor,
  work: UnitOfWork,
  sees: SeesSources,
): Promise<MemoryRecord> {
  const now = new Date().toISOString();
  const after = { ...before, ...change, updatedBy: changedBy, updatedAt: now };
  const { textKey, same } =
    textKeyOf(after) === textKeyOf(before)
      ? { textKey: before.textKey, same: undefined }
      : await chooseTextKey(parts, after, sees);
  if (same !== undefined && same.id !== before.id) {
    throw new AppError('ALREADY_EXISTS', 'already_exists', 'There is another memory with this text.');
  }
  const revisions = revisionsOf(before, after, changedBy, now);
  return replaceChanged(work, parts.memories, before, { ...after, ...derived(after), textKey, revisions });
}

function revisionsOf(before: MemoryRecord, after: MemoryRecord, changedBy: Actor, changedAt: string): Revision[] {
  const kept = [...before.revisions];
  const { content, sourceIds } = before;
  if (after.content !== content) kept.push({ content, sourceIds, changedBy, changedAt });
  return kept.slice(-MAX_REVISIONS);
}

function derived(record: Pick<MemoryRecord, 'holder' | 'content' | 'isPinned' | 'createdAt' | 'sourceIds'>) {
  const { holder, content, isPinned, createdAt, sourceIds } = record;
  return {
    terms: indexTerms(content).map(termWithin(holder)),
    place: placeOf(isPinned, createdAt),
    hasSources: sourceIds.length > 0 ? (true as const) : undefined,
  };
}

type Text = Pick<MemoryRecord, 'holder' | 'content' | 'subjectId' | 'creatorId' | 'sourceIds'>;

/**
 * Returns the key of a text, and the memory that has it. A memory that is withheld from the person does not count: they
 * would learn what it says. The text then has a key of its creator. Whoever writes a text has read its sources.
 */
async function chooseTextKey(
  parts: WriteParts,
  text: Text,
  sees: SeesSources,
): Promise<{ readonly textKey: string; readonly same: MemoryRecord | undefined }> {
  const textKey = textKeyOf(text);
  const same = await findSame(parts, textKey);
  const isKnown = same === undefined || same.sourceIds.every((id) => text.sourceIds.includes(id));
  if (isKnown || (await sees(same))) return { textKey, same };
  const ownKey = fingerprint(textKey, text.creatorId);
  return { textKey: ownKey, same: await findSame(parts, ownKey) };
}

function textKeyOf({ holder, content, subjectId = '' }: Omit<Text, 'creatorId' | 'sourceIds'>): string {
  return fingerprint(holder, subjectId, normalised(content));
}

/** Returns the memory with a text key. It deletes an expired memory with this key, since keys are unique. */
async function findSame({ memories, store }: WriteParts, textKey: string): Promise<MemoryRecord | undefined> {
  const [same] = await memories.find({ where: { textKey }, limit: 1 });
  if (same === undefined || !isExpired(same)) return same;
  await inWork(store, async (work) => {
    const present = await work.get(memories, same.id);
    if (present !== undefined && isExpired(present)) work.remove(memories, present);
  });
  return undefined;
}
