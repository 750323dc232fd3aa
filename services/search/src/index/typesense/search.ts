import type { LRUCache } from 'lru-cache';
import { expand } from '../../domain/expand.js';
import type { Patterns } from '../../domain/pattern.js';
import { asksWithoutWords, type Group } from '../../domain/query.js';
import { EXACT_TOTAL, type Field, type Hit, type IndexAnswer, type IndexQuery, USUAL_FIELDS } from '../port.js';
import type { Document, Found, Search, Server } from './client.js';
import { FACET_FIELDS, facetParameters, facetsCounted, facetsOf } from './facets.js';
import { among, both, type Filter, scopeOf } from './filter.js';
import { HIT_FIELDS, hitOf, typeOf } from './hits.js';
import { documentsById, PAGE } from './lookup.js';
import { excluding, meets, meetsAll, meetsAny, meetsOne, occurrences, openPhrases } from './match.js';
import type { Names } from './names.js';
import { type Token, valueToken } from './tokens.js';
import { vocabularyFor } from './vocabulary.js';
import { type Counts, type Sought, type Weighed, weigh } from './weigh.js';

export interface SearchParts {
  readonly server: Server;
  readonly names: Names;
  /** Partition of a workspace's words; it never changes. */
  readonly partitions: LRUCache<string, Token>;
}

type Answer = Omit<IndexAnswer, 'complete'>;

const NOTHING: Answer = { hits: [], total: 0, totalIsEstimate: false, more: false, facets: {} };

/** The best among so many matches are found by their weights; those behind them stand in Typesense's order. */
const WINDOW = EXACT_TOTAL;
/** Characters of tokens that are weighed in one search. */
const MOST_WEIGHED = 32_000_000;

/** Answers a query from the index that the names tell. */
export async function search(parts: SearchParts, query: IndexQuery): Promise<Answer> {
  const { plan, filter, narrowing } = query;
  const scope = scopeOf(filter, narrowing, 'id');
  const wordless = plan.groups.length === 0;
  const asks = asksWithoutWords(plan) || narrowing.ids !== undefined;
  if (scope === undefined || (wordless && !asks)) return NOTHING;
  const excluded = plan.excluded.map(literal);
  if (wordless) return browse(parts, query, scope, excluded);
  const partition = await partitionOf(parts, filter.workspaceIds);
  if (partition === undefined) return NOTHING;
  const vocabulary = await vocabularyFor(
    parts.server,
    parts.names,
    partition,
    plan.groups,
    query.fields ?? USUAL_FIELDS,
  );
  const groups = plan.groups.map((group) => expand(group, vocabulary));
  const sought = { groups, boosts: plan.boosts.map(literal), fields: query.fields ?? USUAL_FIELDS };
  return find(parts, query, scope, sought, excluded);
}

function termsOf(field: Field): string {
  return `${field}_terms`;
}

/** A group as it stands: neither completed nor corrected. */
function literal({ terms, prefix }: Group): Patterns {
  return [{ terms, prefix }];
}

/** Whose words count; undefined where nothing of the workspaces is in the index. */
async function partitionOf(
  { server, names, partitions }: SearchParts,
  workspaceIds: readonly string[],
): Promise<Token | undefined> {
  const known = workspaceIds.map((id) => partitions.get(id)).find((partition) => partition !== undefined);
  if (known !== undefined) return known;
  const filter = among('workspace', workspaceIds.map(valueToken));
  const include = 'partition';
  const [found] = await server.search([
    { collection: names.entries, q: '*', filter_by: filter, include_fields: include, per_page: 1 },
  ]);
  const partition = found?.hits[0]?.document.partition as Token | undefined;
  if (partition !== undefined) for (const id of workspaceIds) partitions.set(id, partition);
  return partition;
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
  sought: Sought,
  excluded: readonly Patterns[],
): Promise<Answer> {
  const { offset, limit, minScore = 0, facets = [] } = query;
  const counts = await countsOf(parts, scope, sought);
  const any = matching(parts, both(scope, meetsAny(sought.groups, sought.fields)), excluded, query);
  const ranked: Search = { ...any, sort_by: orderOf(sought, counts), per_page: PAGE };
  const weighed: Search = {
    ...ranked,
    include_fields: `id,${sought.fields.map(termsOf).join(',')},name_terms,text_terms,${FACET_FIELDS}`,
  };
  const [page] = (await parts.server.search([{ ...weighed, ...facetParameters(facets) }])) as [Found];
  const documents = await windowOf(parts.server, weighed, page);
  const all = weigh(withoutOpen(documents, excluded, sought), sought, counts);
  const best = all.filter(({ score }) => score >= minScore);
  const covered = documents.length >= page.found;
  const last = best.at(-1)?.score ?? 0;
  const beyond = covered || last < minScore || best.length < all.length ? 0 : page.found - documents.length;
  const total = best.length + beyond;
  const shown: Weighed[] = best.slice(offset, offset + limit);
  if (shown.length < limit && beyond > 0) {
    const from = documents.length + Math.max(0, offset - best.length);
    const behind = await positions(parts.server, { ...ranked, include_fields: 'id' }, from, limit - shown.length);
    shown.push(...behind.map((document) => ({ document, score: last })));
  }
  const groups = [...sought.groups, ...sought.boosts];
  const inWindow = all.map(({ document }) => document);
  return {
    hits: await hitsOf(parts, query, shown, groups),
    total,
    totalIsEstimate: total > EXACT_TOTAL,
    more: offset + shown.length < total,
    facets: covered ? facetsCounted(facets, inWindow) : facetsOf(facets, page),
  };
}

/** How many entries may be given, and how many of them meet each group. */
async function countsOf({ server, names }: SearchParts, scope: Filter, { groups, fields }: Sought): Promise<Counts> {
  const filters = [scope, ...groups.map((patterns) => both(scope, meets(patterns, fields)))];
  const found = await server.search(
    filters.map((filter) => ({ collection: names.entries, q: '*', filter_by: filter, per_page: 0 })),
  );
  const [entries = 0, ...counts] = found.map(({ found: count }) => count);
  return { entries, groups: counts };
}

/**
 * Which of many matches are weighed: those with the rarest of the groups, for others can't weigh as much; those that
 * have all groups are among them. Where even the rarest is in too many, those with all groups, or in their names.
 */
function orderOf({ groups, fields }: Sought, { groups: counts }: Counts): string {
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

/** The matches that are weighed: all, or the first of them. The same for every page of an answer. */
async function windowOf(server: Server, search: Search, first: Found): Promise<Document[]> {
  const documents = first.hits.map(({ document }) => document);
  const most = Math.min(WINDOW, first.found);
  const pages = Math.ceil(Math.min(most, roomFor(documents)) / PAGE);
  const more = Array.from({ length: Math.max(0, pages - 1) }, (_, i) => ({ ...search, page: i + 2 }));
  const found = await server.search(more);
  return [...documents, ...found.flatMap(({ hits }) => hits.map(({ document }) => document))];
}

/** How many documents are weighed where they are as long as some. */
function roomFor(documents: readonly Document[]): number {
  return Math.max(PAGE, (documents.length * MOST_WEIGHED) / Math.max(1, sizeOf(documents)));
}

function sizeOf(documents: readonly Document[]): number {
  const lengthOf = (terms: unknown): number => String(terms ?? '').length;
  return documents.reduce(
    (sum, { text_terms, comments_terms }) => sum + lengthOf(text_terms) + lengthOf(comments_terms),
    0,
  );
}

/** Typesense can't leave out phrases whose last term is a beginning. */
function withoutOpen(documents: readonly Document[], excluded: readonly Patterns[], { fields }: Sought) {
  const phrases = openPhrases(excluded);
  if (phrases.length === 0) return documents;
  return documents.filter((document) => {
    const tokens = (field: Field): string => ` ${document[termsOf(field)] ?? ''} `;
    return !phrases.some((phrase) => fields.some((field) => occurrences(phrase, tokens(field)) > 0));
  });
}

/** Documents by their place in Typesense's order. */
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
  shown: readonly Weighed[],
  groups: readonly Patterns[],
): Promise<Hit[]> {
  const ids = shown.map(({ document }) => document.id as Token);
  const texts = await documentsById(server, names.entries, ids, bare ? BARE_FIELDS : HIT_FIELDS);
  return shown.flatMap(({ document: { id }, score }) => {
    const document = texts.get(id);
    // Gone since it was found.
    if (document === undefined) return [];
    if (bare) return [{ id: String(document.entry), type: typeOf(document), score, matchedIn: [], snippets: {} }];
    return [hitOf({ document, score, groups, fields, highlight })];
  });
}

/** Answers a query without words: what its filters admit, last updated first. */
async function browse(
  parts: SearchParts,
  query: IndexQuery,
  scope: Filter,
  excluded: readonly Patterns[],
): Promise<Answer> {
  const { offset, limit, facets = [] } = query;
  const ordered: Search = { ...matching(parts, scope, excluded, query), sort_by: 'updated:desc' };
  const [counted] = await parts.server.search([{ ...ordered, per_page: 0, ...facetParameters(facets) }]);
  if (counted === undefined) return NOTHING;
  const documents = await positions(parts.server, { ...ordered, include_fields: 'id' }, offset, limit);
  const shown = documents.map((document) => ({ document, score: 1 }));
  return {
    hits: await hitsOf(parts, { ...query, highlight: false }, shown, []),
    total: counted.found,
    totalIsEstimate: counted.found > EXACT_TOTAL,
    more: offset + shown.length < counted.found,
    facets: facetsOf(facets, counted),
  };
}
