import type { LRUCache } from 'lru-cache';
import { expand } from '../../domain/expand.js';
import { type FacetName, type Field, USUAL_FIELDS } from '../../domain/narrowing.js';
import type { Patterns } from '../../domain/pattern.js';
import { asksWithoutWords, type Group } from '../../domain/query.js';
import { EXACT_TOTAL, type Hit, type IndexAnswer, type IndexQuery } from '../port.js';
import type { Document, Search, SearchResult, Server } from './client.js';
import { FACET_FIELDS, facetParameters, facetsCounted, facetsOf, withoutCounts } from './facets.js';
import { among, both, type Filter, lostHeads, scopeOf } from './filter.js';
import { HIT_FIELDS, hitOf, typeOf } from './hits.js';
import { documentsById, PAGE } from './lookup.js';
import { excluding, meets, meetsAll, meetsAny, meetsOne, occurrences, openPhrases } from './match.js';
import type { Names } from './names.js';
import { type Token, valueToken } from './tokens.js';
import { vocabularyFor } from './vocabulary.js';
import { type Counts, type SearchPatterns, type WeighedHit, weigh } from './weigh.js';

interface SearchParts {
  readonly server: Server;
  readonly names: Names;
  /** Partition of each workspace's words, which never changes. */
  readonly partitions: LRUCache<string, Token>;
}

type Answer = Omit<IndexAnswer, 'complete'>;

const NOTHING: Answer = { hits: [], total: 0, totalIsEstimate: false, more: false, facets: {} };

/** Matches that are ranked by weight; further ones follow in Typesense's order. */
const WINDOW = EXACT_TOTAL;
/** Maximum characters of tokens that one search weighs. */
const MAX_WEIGHED_CHARS = 32_000_000;

/** Answers a query from the index that the names refer to. */
export async function search(parts: SearchParts, query: IndexQuery): Promise<Answer> {
  const { plan, filter, narrowing } = query;
  const scope = scopeOf(filter, narrowing, 'id');
  const wordless = plan.groups.length === 0;
  const asks = asksWithoutWords(plan) || narrowing.ids !== undefined;
  if (scope === undefined || (wordless && !asks)) return NOTHING;
  const excluded = plan.excluded.map(literal);
  if (wordless) return browse(parts, query, scope, excluded);
  const partitions = await partitionsOf(parts, filter.workspaceIds);
  if (partitions.length === 0) return NOTHING;
  const vocabulary = await vocabularyFor(
    parts.server,
    parts.names,
    partitions,
    plan.groups,
    query.fields ?? USUAL_FIELDS,
  );
  const groups = plan.groups.map((group) => ({ patterns: expand(group, vocabulary), times: group.times }));
  const sought = {
    groups,
    boosts: plan.boosts.map(literal),
    fields: query.fields ?? USUAL_FIELDS,
    every: query.every ?? false,
  };
  return find(parts, query, scope, sought, excluded);
}

function termsOf(field: Field): string {
  return `${field}_terms`;
}

function patternsOf({ groups }: SearchPatterns): Patterns[] {
  return groups.map(({ patterns }) => patterns);
}

/** Returns a group as it is, neither completed nor corrected. */
function literal({ terms, prefix }: Group): Patterns {
  return [{ terms, prefix }];
}

/** Returns the partitions whose words count; none when the index contains nothing of the workspaces. */
async function partitionsOf(
  { server, names, partitions }: SearchParts,
  workspaceIds: readonly string[],
): Promise<readonly Token[]> {
  const unknown = workspaceIds.filter((id) => !partitions.has(id));
  const found = await server.search(
    unknown.map((id) => {
      const filter = among('workspace', [valueToken(id)]);
      return { collection: names.entries, q: '*', filter_by: filter, include_fields: 'partition', per_page: 1 };
    }),
  );
  for (const [i, { hits }] of found.entries()) {
    const partition = hits[0]?.document.partition as Token | undefined;
    if (partition !== undefined) partitions.set(unknown[i] as string, partition);
  }
  return [...new Set(workspaceIds.flatMap((id) => partitions.get(id) ?? []))];
}

function matching({ names }: SearchParts, filter: Filter, excluded: readonly Patterns[], query: IndexQuery): Search {
  const fields = (query.fields ?? USUAL_FIELDS).flatMap((field) => [`${field}_terms`, `${field}_parts`]);
  return {
    collection: names.entries,
    q: excluding(excluded),
    query_by: fields.join(','),
    filter_by: filter,
    num_typos: '0',
    prefix: 'false',
    highlight_fields: 'none',
  };
}

async function find(
  parts: SearchParts,
  query: IndexQuery,
  scope: Filter,
  sought: SearchPatterns,
  excluded: readonly Patterns[],
): Promise<Answer> {
  const { offset, limit, minScore = 0, facets = [] } = query;
  const counts = await countsOf(parts, scope, sought);
  const any = matching(parts, both(scope, meetsAny(patternsOf(sought), sought.fields)), excluded, query);
  const ranked: Search = { ...any, sort_by: orderOf(sought, counts), per_page: PAGE };
  const weighed: Search = {
    ...ranked,
    include_fields: `id,${sought.fields.map(termsOf).join(',')},name_terms,text_terms,${FACET_FIELDS}`,
  };
  const lost = lostHeads(query.filter);
  const [page, lostPage] = (await parts.server.search([
    { ...weighed, ...facetParameters(facets) },
    ...amongLost(any, lost, facets),
  ])) as [SearchResult, SearchResult | undefined];
  const window = await windowOf(parts.server, weighed, page);
  const documents = window.filter(({ id }) => !lost.has(id as Token));
  const all = weigh(withoutOpen(documents, excluded, sought), sought, counts);
  const best = all.filter(({ score }) => score >= minScore);
  // What has all groups is weighed first.
  const covered = sought.every || window.length >= page.found;
  const last = best.at(-1)?.score ?? 0;
  const rest = page.found - (lostPage?.found ?? 0) - documents.length;
  const beyond = covered || last < minScore || best.length < all.length ? 0 : Math.max(0, rest);
  const total = best.length + beyond;
  const shown: WeighedHit[] = best.slice(offset, offset + limit);
  if (shown.length < limit && beyond > 0) {
    const from = window.length + Math.max(0, offset - best.length);
    const behind = await positions(parts.server, { ...ranked, include_fields: 'id' }, from, limit - shown.length);
    const present = behind.filter(({ id }) => !lost.has(id as Token));
    shown.push(...present.map((document) => ({ document, score: last })));
  }
  const groups = [...patternsOf(sought), ...sought.boosts];
  const inWindow = all.map(({ document }) => document);
  return {
    hits: await hitsOf(parts, query, shown, groups),
    total,
    totalIsEstimate: total > EXACT_TOTAL,
    more: offset + shown.length < total,
    facets: covered ? facetsCounted(facets, inWindow) : facetsWithout(facets, page, lostPage),
  };
}

/** Returns a search that counts lost heads among the matches of another; none if there are no such heads. */
function amongLost(search: Search, lost: ReadonlySet<Token>, facets: readonly FacetName[]): Search[] {
  if (lost.size === 0) return [];
  const filter = both(search.filter_by as Filter, among('id', [...lost]));
  return [{ ...search, filter_by: filter, per_page: 0, ...facetParameters(facets) }];
}

function facetsWithout(
  facets: readonly FacetName[],
  all: SearchResult,
  lost: SearchResult | undefined,
): Answer['facets'] {
  const counted = facetsOf(facets, all);
  return lost === undefined || lost.found === 0 ? counted : withoutCounts(counted, facetsOf(facets, lost));
}

/** Counts the admitted entries, and those of them that match each group, as it is written and in any form. */
async function countsOf({ server, names }: SearchParts, scope: Filter, sought: SearchPatterns): Promise<Counts> {
  const groups = patternsOf(sought);
  const matching = (patterns: Patterns): Filter => both(scope, meets(patterns, sought.fields));
  const completed = groups.filter((patterns) => patterns.length > 1);
  const filters = [scope, ...groups.map(matching), ...completed.map((patterns) => matching(patterns.slice(0, 1)))];
  const found = await server.search(
    filters.map((filter) => ({ collection: names.entries, q: '*', filter_by: filter, per_page: 0 })),
  );
  const [entries = 0, ...counts] = found.map(({ found: count }) => count);
  const written = counts.splice(groups.length);
  return {
    entries,
    groups: counts,
    written: groups.map(({ length }, i) => (length > 1 ? written.shift() : counts[i]) ?? 0),
  };
}

/**
 * Returns the order that decides which of many matches are weighed: first those with the rarest groups, because others
 * can't weigh as much, and they include those with all groups. If even the rarest group has too many matches, first
 * those with all groups, or with the group in their names.
 */
function orderOf(sought: SearchPatterns, { groups: counts }: Counts): string {
  const { fields } = sought;
  const groups = patternsOf(sought);
  const byRarity = groups.map((patterns, i) => ({ patterns, count: counts[i] as number }));
  byRarity.sort((a, b) => a.count - b.count);
  let room = WINDOW;
  const rare = byRarity.filter(({ count }) => {
    room -= count;
    return room >= 0;
  });
  const some = rare.filter(({ count }) => count > 0).map(({ patterns }) => patterns);
  const first =
    some.length > 0 ? meetsOne(some, fields) : meetsAll(groups, groups.length > 1 ? fields : fields.slice(0, 1));
  return first === undefined ? 'updated:desc' : `_eval(${first}):desc,updated:desc`;
}

/** Returns the matches to weigh: all or the first of them, and the same for each page of an answer. */
async function windowOf(server: Server, search: Search, first: SearchResult): Promise<Document[]> {
  const documents = first.hits.map(({ document }) => document);
  const count = Math.min(WINDOW, first.found);
  const pages = Math.ceil(Math.min(count, weighableCount(documents)) / PAGE);
  const more = Array.from({ length: Math.max(0, pages - 1) }, (_, i) => ({ ...search, page: i + 2 }));
  const found = await server.search(more);
  return [...documents, ...found.flatMap(({ hits }) => hits.map(({ document }) => document))];
}

/** Returns how many documents can be weighed if they are as long as the given ones. */
function weighableCount(documents: readonly Document[]): number {
  return Math.max(PAGE, (documents.length * MAX_WEIGHED_CHARS) / Math.max(1, sizeOf(documents)));
}

function sizeOf(documents: readonly Document[]): number {
  const lengthOf = (terms: unknown): number => String(terms ?? '').length;
  return documents.reduce(
    (sum, { text_terms, comments_terms }) => sum + lengthOf(text_terms) + lengthOf(comments_terms),
    0,
  );
}

/** Removes documents with excluded phrases that end with a prefix, which Typesense can't exclude. */
function withoutOpen(documents: readonly Document[], excluded: readonly Patterns[], { fields }: SearchPatterns) {
  const phrases = openPhrases(excluded);
  if (phrases.length === 0) return documents;
  return documents.filter((document) => {
    const tokens = (field: Field): string => ` ${document[termsOf(field)] ?? ''} `;
    return !phrases.some((phrase) => fields.some((field) => occurrences(phrase, tokens(field)) > 0));
  });
}

/** Returns documents by their position in Typesense's order. */
async function positions(server: Server, search: Search, from: number, count: number): Promise<Document[]> {
  if (count <= 0) return [];
  const size = Math.min(PAGE, count);
  const first = Math.floor(from / size);
  const last = Math.floor((from + count - 1) / size);
  const pages = Array.from({ length: last - first + 1 }, (_, i) => ({
    ...search,
    per_page: size,
    page: first + i + 1,
  }));
  const found = await server.search(pages);
  const documents = found.flatMap(({ hits }) => hits.map(({ document }) => document));
  return documents.slice(from - first * size, from - first * size + count);
}

const BARE_FIELDS = 'entry,type';

async function hitsOf(
  { server, names }: SearchParts,
  { highlight, fields = USUAL_FIELDS, bare = false }: IndexQuery,
  shown: readonly WeighedHit[],
  groups: readonly Patterns[],
): Promise<Hit[]> {
  const ids = shown.map(({ document }) => document.id as Token);
  const texts = await documentsById(server, names.entries, ids, bare ? BARE_FIELDS : HIT_FIELDS);
  return shown.flatMap(({ document: { id }, score }) => {
    const document = texts.get(id);
    // Deleted since it was found.
    if (document === undefined) return [];
    if (bare) return [{ id: String(document.entry), type: typeOf(document), score, matchedIn: [], snippets: {} }];
    return [hitOf({ document, score, groups, fields, highlight })];
  });
}

/** Answers a query without words: returns what its filters admit, last updated first. */
async function browse(
  parts: SearchParts,
  query: IndexQuery,
  scope: Filter,
  excluded: readonly Patterns[],
): Promise<Answer> {
  const { offset, limit, facets = [] } = query;
  const admitted = matching(parts, scope, excluded, query);
  const ordered: Search = { ...admitted, sort_by: 'updated:desc' };
  const lost = lostHeads(query.filter);
  const [counted, lostCounted] = await parts.server.search([
    { ...ordered, per_page: 0, ...facetParameters(facets) },
    ...amongLost(admitted, lost, facets),
  ]);
  if (counted === undefined) return NOTHING;
  const excess = lostCounted?.found ?? 0;
  const total = counted.found - excess;
  const listed: Search = { ...ordered, include_fields: 'id' };
  // Lost heads may be anywhere before the page, so with any of them the places are counted from the first.
  const documents =
    excess === 0
      ? await positions(parts.server, listed, offset, limit)
      : (await positions(parts.server, listed, 0, offset + limit + excess))
          .filter(({ id }) => !lost.has(id as Token))
          .slice(offset, offset + limit);
  const shown = documents.map((document) => ({ document, score: 1 }));
  return {
    hits: await hitsOf(parts, { ...query, highlight: false }, shown, []),
    total,
    totalIsEstimate: total > EXACT_TOTAL,
    more: offset + shown.length < total,
    facets: facetsWithout(facets, counted, lostCounted),
  };
}
