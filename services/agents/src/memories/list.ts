import type { CallContext } from '@commonplace/kit/rpc';
import { findPage, type Sort, sortsBy, type TimeFilters, timesWithin, type Where } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { queryTerms } from '../domain/words.js';
import type { Parts } from '../parts.js';
import { readableAmong } from '../readable.js';
import {
  holderOfAgent,
  type MemoryKind,
  type MemoryRecord,
  type MemoryScope,
  type MemoryStatus,
  termWithin,
} from '../stores/memories.js';
import { holderOf, type MemoryRights, reaches } from './access.js';

export interface MemoryFilter {
  readonly scope?: MemoryScope | undefined;
  readonly workspaceId?: string | undefined;
  readonly orgId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly subjectId?: string | undefined;
  readonly kind?: MemoryKind | undefined;
  readonly status?: MemoryStatus | undefined;
  /** Words that a text must contain; empty for any text. */
  readonly q: string;
  readonly tag: string;
  /** The person who created it. */
  readonly creatorId?: string | undefined;
  readonly times: TimeFilters;
  /** The requested order; pinned ones first, then the newest, if it is empty. */
  readonly sort: string;
}

const PINNED_FIRST: Sort<MemoryRecord> = ['-place'];

const SORTS = sortsBy<MemoryRecord>({ created_at: 'createdAt', updated_at: 'updatedAt' });

type ListParts = Pick<Parts, 'memories' | 'index'>;

/** Returns a page of the memories that the caller can read. */
export async function listMemories(
  parts: ListParts,
  rights: MemoryRights,
  filter: MemoryFilter,
  page: PageRequest | undefined,
  context: CallContext,
): Promise<{ items: MemoryRecord[]; page: Page }> {
  const where = await matching(parts, rights, filter, context);
  return findPage(parts.memories, where, SORTS[filter.sort] ?? PINNED_FIRST, page);
}

async function matching(
  parts: ListParts,
  rights: MemoryRights,
  filter: MemoryFilter,
  context: CallContext,
): Promise<Where<MemoryRecord>> {
  const terms = queryTerms(filter.q);
  // A query without letters or digits matches no text.
  if (filter.q.trim() !== '' && terms.length === 0) return NOTHING;
  const visible = { or: await visibleArms(parts, rights, terms, filter.workspaceId, context) };
  const { q, tag, times, sort: _, ...fields } = filter;
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const named: Where<MemoryRecord> = {
    ...Object.fromEntries(given),
    ...(tag !== '' && { tags: { contains: tag } }),
    ...timesWithin(times),
  };
  const all: Where<MemoryRecord> = { and: [visible, named, unexpired()] };
  return terms.length === 0 && tag === '' ? all : { and: [all, await openOnes(parts, all, context)] };
}

const NOTHING: Where<MemoryRecord> = { id: { in: [] } };

export const unexpired = (): Where<MemoryRecord> => ({
  or: [{ expiresAt: { exists: false } }, { expiresAt: { gt: new Date().toISOString() } }],
});

/**
 * Returns a filter for each group of memories that the caller can read and that contain all terms: those of a workspace
 * only, if it is named, as each place has its own terms to look for.
 */
async function visibleArms(
  { memories }: ListParts,
  rights: MemoryRights,
  terms: readonly string[],
  workspaceId: string | undefined,
  { caller }: CallContext,
): Promise<Where<MemoryRecord>[]> {
  const tenant = caller.tenant?.orgId;
  const orgIds: Where<MemoryRecord> = {
    orgId: tenant === undefined ? { in: ['', ...rights.orgIds] } : (tenant ?? ''),
  };
  const places = rights
    .holders()
    .filter((about) => reaches(caller, about))
    .filter((about) => workspaceId === undefined || about.workspaceId === workspaceId)
    .map(holderOf);
  const inPlaces: Where<MemoryRecord> = { holder: { in: places }, ...containing(terms, places) };
  if (workspaceId !== undefined) return [inPlaces];
  if (caller.credential.workspaceIds !== undefined || caller.workspaceId !== undefined) return [inPlaces];
  const own = [...rights.agentIds].map(holderOfAgent);
  const about: Where<MemoryRecord> = { subjectId: caller.userId, ...orgIds };
  const knowing = terms.length === 0 ? [] : [...(await memories.countBy('agentId', about)).keys()].map(holderOfAgent);
  return [
    inPlaces,
    { holder: { in: own }, ...orgIds, ...containing(terms, own) },
    { ...about, ...containing(terms, knowing) },
  ];
}

/** Returns the condition that a memory of one of these holders contains all terms. */
function containing(terms: readonly string[], holders: readonly string[]): Where<MemoryRecord> {
  const marks = terms.length === 0 ? [] : holders.map(termWithin);
  return terms.length === 0
    ? {}
    : { and: terms.map((term) => ({ terms: { containsAny: marks.map((mark) => mark(term)) } })) };
}

/** Maximum number of memories with sources that one request checks, the newest first. */
const MAX_CHECKED = 2_000;

/**
 * Returns a filter that leaves out memories drawn from resources that the caller cannot read, so that a search does not
 * reveal whether a hidden text contains a word.
 */
async function openOnes(
  parts: ListParts,
  all: Where<MemoryRecord>,
  context: CallContext,
): Promise<Where<MemoryRecord>> {
  const where: Where<MemoryRecord> = { and: [all, { hasSources: true }] };
  const drawn = await parts.memories.find({ where, sort: PINNED_FIRST, limit: MAX_CHECKED });
  if (drawn.length === 0) return {};
  const readable = await readableAmong(parts, [...new Set(drawn.flatMap(({ sourceIds }) => sourceIds))], context);
  const open = drawn.filter(({ sourceIds }) => sourceIds.every((id) => readable.has(id)));
  return { or: [{ hasSources: { exists: false } }, { id: { in: open.map(({ id }) => id) } }] };
}
