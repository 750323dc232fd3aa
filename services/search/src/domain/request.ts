import { type Fault, invalidFields } from '@commonplace/kit/errors';
import { isLongerThan } from '@commonplace/kit/words';
import { namesByValue, valuesByName } from '@commonplace/platform/enums';
import type { GetSearchFilterRequest, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  SearchFacet,
  SearchField,
  SearchGrouping,
  SearchMode,
  type SearchRequest,
} from '@commonplace/proto/search/v1/search_service.js';
import { type FacetName, type Field, type Narrowing, USUAL_FIELDS } from './narrowing.js';
import { parseQuery, type QUERY_TYPES, type QueryPlan } from './query.js';

const MAX_QUERY_CHARS = 1000;
const DEFAULT_LIMIT = 20;
const MAX_PAGE_ITEMS = 50;
const MAX_READABLE_ITEMS = 10_000;
const DEFAULT_ALPHA = 0.4;
/** Metadata of a resource has at most so many bytes. Each value that is asked for is a condition of the index. */
const MAX_METADATA_BYTES = 16_384;
const MAX_METADATA_VALUES = 50;

/** Holds a validated search request. */
export interface Search {
  readonly plan: QueryPlan;
  /** The requested mode. */
  readonly mode: 'keyword' | 'semantic' | 'hybrid';
  /** Weight of semantic results, from 0 to 1. */
  readonly alpha: number;
  readonly groupBy: 'resource' | 'chunk';
  readonly narrowing: Narrowing;
  readonly fields: readonly Field[];
  readonly offset: number;
  readonly limit: number;
  readonly minScore: number | undefined;
  readonly facets: readonly FacetName[];
  readonly highlight: boolean;
}

/**
 * Returns the question for the owner of the tags: the requested tag ids, then the tags that the query names and those
 * that it excludes.
 */
export function tagQuestion(
  { tagIds }: SearchRequest,
  { plan }: Search,
): Pick<GetSearchFilterRequest, 'tagIds' | 'tagTerms'> {
  return { tagIds, tagTerms: [...plan.tags, ...plan.excludedTags] };
}

/** Restricts a search to the tags in the owner's answer. */
export function withTags(search: Search, requested: readonly string[], { tagIds, tagTerms }: SearchFilter): Search {
  const { plan } = search;
  const named = tagTerms.map(({ ids }) => ids);
  const tags = [...(requested.length > 0 ? [tagIds] : []), ...named.slice(0, plan.tags.length)];
  const excludedTags = named.slice(plan.tags.length).flat();
  return { ...search, narrowing: { ...search.narrowing, tags, excludedTags } };
}

/**
 * Validates a request. Throws all its faults at once: `query_required`, `invalid_value`, `offset_too_deep`,
 * `invalid_pagination`.
 */
export function readRequest(request: SearchRequest): Search {
  const faults: Fault[] = [];
  const query = request.query.trim();
  if (query === '') faults.push({ param: 'query', code: 'query_required', message: 'query must not be empty.' });
  if (isLongerThan(query, MAX_QUERY_CHARS)) {
    faults.push({
      param: 'query',
      code: 'invalid_value',
      message: `A query may have at most ${MAX_QUERY_CHARS} characters.`,
    });
  }
  const offset = Math.max(0, request.page?.offset ?? 0);
  const limit = Math.min(MAX_PAGE_ITEMS, request.page?.limit || DEFAULT_LIMIT);
  if (offset + limit > MAX_READABLE_ITEMS) {
    faults.push({
      param: 'offset',
      code: 'offset_too_deep',
      message: `Only the first ${MAX_READABLE_ITEMS} items can be read.`,
    });
  }
  if (request.page?.cursor) {
    const message = 'A search is continued by offset: it has no cursor.';
    faults.push({ param: 'cursor', code: 'invalid_pagination', message });
  }
  // An invalid query is not parsed.
  const plan = parseQuery(faults.length === 0 ? query : '');
  const types = typesOf(request.types, plan, faults);
  const metadata = metadataOf(request.metadata, faults);
  if (faults.length > 0) throw invalidFields(faults);
  const { fields, fieldTypes } = fieldsOf(request.in);
  return {
    plan,
    mode: modeOf(request.mode),
    alpha: request.alpha ?? DEFAULT_ALPHA,
    groupBy: request.groupBy === SearchGrouping.CHUNK ? 'chunk' : 'resource',
    narrowing: {
      types: intersection(types, fieldTypes),
      excludedTypes: plan.excludedTypes.map(typeNamed),
      parentId: request.parentId || undefined,
      createdBy: request.createdBy.length > 0 ? request.createdBy : undefined,
      updatedAfter: request.updatedAfter,
      updatedBefore: request.updatedBefore,
      metadata,
    },
    fields,
    offset,
    limit,
    minScore: request.minScore,
    facets: request.facets.flatMap((facet) => FACETS[facet] ?? []),
    highlight: request.highlight ?? true,
  };
}

function modeOf(mode: SearchMode): Search['mode'] {
  if (mode === SearchMode.KEYWORD) return 'keyword';
  return mode === SearchMode.SEMANTIC ? 'semantic' : 'hybrid';
}

const FACETS: Partial<Record<SearchFacet, FacetName>> = namesByValue(SearchFacet);

const TYPES: Readonly<Record<string, ResourceType>> = valuesByName(ResourceType) satisfies Record<
  (typeof QUERY_TYPES)[number],
  ResourceType
>;

function typeNamed(name: string): ResourceType {
  return TYPES[name] ?? ResourceType.UNSPECIFIED;
}

/** Returns the name of a type in the query language. */
export function nameOfType(type: string): string {
  return Object.entries(TYPES).find(([, value]) => value === type)?.[0] ?? type;
}

/** Returns the types that both the request's field and the query's operators allow. */
function typesOf(requested: readonly ResourceType[], plan: QueryPlan, faults: Fault[]): ResourceType[] | undefined {
  requested.forEach((type, i) => {
    if (!Object.values(TYPES).includes(type)) {
      faults.push({ param: `types[${i}]`, code: 'invalid_value', message: 'must be a type of resource.' });
    }
  });
  return intersection(
    requested.length > 0 ? [...requested] : undefined,
    plan.types.length > 0 ? plan.types.map(typeNamed) : undefined,
  );
}

function intersection<T>(a: T[] | undefined, b: T[] | undefined): T[] | undefined {
  return a === undefined || b === undefined ? (a ?? b) : a.filter((value) => b.includes(value));
}

interface Fields {
  readonly fields: readonly Field[];
  readonly fieldTypes: ResourceType[] | undefined;
}

/** Resource types whose text each field contains. */
const TEXTS: Partial<Record<SearchField, readonly ResourceType[]>> = {
  [SearchField.CONTENT]: [ResourceType.DOCUMENT, ResourceType.ARTIFACT, ResourceType.FOLDER],
  [SearchField.ROWS]: [ResourceType.TABLE],
  [SearchField.FILES]: [ResourceType.FILE],
};

/**
 * Returns the fields to search and the types that they imply. The text of a table is its rows, that of a file is what
 * was extracted from it, and comments are on documents: unless names are searched too, the fields restrict the types.
 */
function fieldsOf(requested: readonly SearchField[]): Fields {
  if (requested.length === 0) return { fields: USUAL_FIELDS, fieldTypes: undefined };
  const wanted = new Set(requested);
  const texts = [...wanted].flatMap((field) => TEXTS[field] ?? []);
  const fields: Field[] = [];
  if (wanted.has(SearchField.NAME)) fields.push('name');
  if (texts.length > 0) fields.push('text');
  if (wanted.has(SearchField.COMMENTS)) fields.push('comments');
  const types = wanted.has(SearchField.COMMENTS) ? [ResourceType.DOCUMENT, ...texts] : texts;
  const everywhere = Object.values(TYPES).every((type) => types.includes(type));
  return { fields, fieldTypes: wanted.has(SearchField.NAME) || everywhere ? undefined : types };
}

function metadataOf(json: Buffer, faults: Fault[]): Narrowing['metadata'] {
  if (json.length === 0) return undefined;
  if (json.length > MAX_METADATA_BYTES) {
    const message = `metadata may have at most ${MAX_METADATA_BYTES} bytes.`;
    faults.push({ param: 'metadata', code: 'invalid_value', message });
    return undefined;
  }
  const metadata: Record<string, string | number | boolean> = {};
  const given = Object.entries(JSON.parse(json.toString('utf8')) as Record<string, unknown>);
  if (given.length > MAX_METADATA_VALUES) {
    const message = `metadata must have ${MAX_METADATA_VALUES} entries or fewer.`;
    faults.push({ param: 'metadata', code: 'too_many_items', message });
    return undefined;
  }
  for (const [name, value] of given) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      Object.defineProperty(metadata, name, { value, enumerable: true });
    } else {
      const message = 'Only strings, numbers and booleans can be searched for.';
      faults.push({ param: `metadata.${name}`, code: 'invalid_value', message });
    }
  }
  return metadata;
}
