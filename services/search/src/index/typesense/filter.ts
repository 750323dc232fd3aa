import type { SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { Narrowing } from '../../domain/narrowing.js';
import { belowToken, pairValue, typeValue } from './document.js';
import { type Token, valueToken } from './tokens.js';

/** A condition in Typesense's syntax. Only this file creates them, from field names and tokens. */
export type Filter = string & { readonly filter: unique symbol };

export function among(field: string, tokens: readonly Token[]): Filter {
  return `${field}:[${tokens.map((token) => `\`${token}\``).join(',')}]` as Filter;
}

/** Requires that a list contains none of the values, or that a scalar field equals none. */
function without(field: string, tokens: readonly Token[]): Filter {
  return `${field}:!=[${tokens.map((token) => `\`${token}\``).join(',')}]` as Filter;
}

export function both(...filters: readonly Filter[]): Filter {
  return (filters.length === 1 ? filters[0] : `(${filters.join(' && ')})`) as Filter;
}

export function either(...filters: readonly Filter[]): Filter {
  return (filters.length === 1 ? filters[0] : `(${filters.join(' || ')})`) as Filter;
}

export function lessThan(field: string, value: number): Filter {
  return compared(field, '<', value);
}

function compared(field: string, operator: '>' | '<', value: number): Filter {
  return `${field}:${operator}${Math.trunc(value)}` as Filter;
}

const tokens = (values: readonly string[]): Token[] => values.map(valueToken);

/**
 * Conditions, operators and brackets that a filter of words may contain: Typesense 0.24 refuses more than 100 in all.
 */
const MAX_FILTER_PARTS = 60;

export function isTooLong(filter: Filter): boolean {
  return (filter.match(/:|&&|\|\||[()]/g)?.length ?? 0) > MAX_FILTER_PARTS;
}

/**
 * Returns the filter for what a search may return, or undefined when that is nothing. `id` is the field with the
 * entry's id.
 */
export function scopeOf(filter: SearchFilter, narrowing: Narrowing, id: 'id' | 'of'): Filter | undefined {
  const access = accessOf(filter, id);
  const narrow = narrowedTo(narrowing, id);
  return access === undefined || narrow === undefined
    ? undefined
    : both(...access, ...withoutLost(filter, id), ...narrow);
}

/**
 * Excludes lost subtrees, except entries that are their heads: Typesense 0.24 excludes nothing by its id. What is kept of
 * one is kept of all, because the number of conditions is limited: a subtree that was lost within a kept one is excluded
 * by the check of each hit alone.
 */
function withoutLost({ lost }: SearchFilter, id: 'id' | 'of'): Filter[] {
  const outside = (some: SearchFilter['lost']): Filter[] => {
    if (some.length === 0) return [];
    const below = some.map(({ resourceId, boundaryId }) => belowToken(boundaryId, resourceId));
    const heads = some.map(({ resourceId }) => resourceId);
    return [without('below', below), ...(id === 'of' ? [without(id, tokens(heads))] : [])];
  };
  const partly = lost.filter(({ keptIds }) => keptIds.length > 0);
  const filters = outside(lost.filter(({ keptIds }) => keptIds.length === 0));
  if (partly.length === 0) return filters;
  const kept = tokens(partly.flatMap(({ keptIds }) => keptIds));
  return [...filters, either(both(...outside(partly)), among(id, kept), among('ancestors', kept))];
}

/** Returns the heads of lost subtrees, which the filter of entries does not exclude. */
export function lostHeads({ lost }: SearchFilter): ReadonlySet<Token> {
  return new Set(tokens(lost.map(({ resourceId }) => resourceId)));
}

function accessOf(filter: SearchFilter, id: string): Filter[] | undefined {
  if (filter.workspaceIds.length === 0) return undefined;
  const searched = among('workspace', tokens(filter.workspaceIds));
  const open = new Set(filter.openWorkspaceIds);
  if (filter.workspaceIds.every((id) => open.has(id))) return [searched];
  const ways = accessFilters(filter, id);
  return ways.length === 0 ? undefined : [searched, either(...ways)];
}

function accessFilters({ openWorkspaceIds, boundaryIds, principals, granted }: SearchFilter, id: string): Filter[] {
  const lists: [string, readonly string[]][] = [
    ['workspace', openWorkspaceIds],
    ['boundary', boundaryIds],
    ['principals', principals],
    [id, granted.map(({ resourceId }) => resourceId)],
  ];
  const ways = lists.filter(([, ids]) => ids.length > 0).map(([field, ids]) => among(field, tokens(ids)));
  if (granted.length > 0) {
    ways.push(
      among(
        'below',
        granted.map(({ resourceId, boundaryId }) => belowToken(boundaryId, resourceId)),
      ),
    );
  }
  return ways;
}

function narrowedTo(narrowing: Narrowing, id: string): Filter[] | undefined {
  const { types, excludedTypes = [], parentId, createdBy, updatedAfter, updatedBefore, ids } = narrowing;
  const { metadata = {}, tags = [], excludedTags = [] } = narrowing;
  const filters: Filter[] = [];
  const anyOf: [string, readonly string[]][] = [
    ...(types === undefined ? [] : [['type', types.map(typeValue)] as [string, string[]]]),
    ...(ids === undefined ? [] : [[id, ids] as [string, readonly string[]]]),
    ...(createdBy === undefined ? [] : [['created_by', createdBy] as [string, readonly string[]]]),
    ...tags.map((some): [string, readonly string[]] => ['tags', some]),
  ];
  if (anyOf.some(([, values]) => values.length === 0)) return undefined;
  for (const [field, values] of anyOf) filters.push(among(field, tokens(values)));
  if (excludedTypes.length > 0) filters.push(without('type', tokens(excludedTypes.map(typeValue))));
  if (excludedTags.length > 0) filters.push(without('tags', tokens(excludedTags)));
  if (parentId !== undefined) filters.push(among('ancestors', [valueToken(parentId)]));
  if (updatedAfter !== undefined) filters.push(compared('updated', '>', Date.parse(updatedAfter)));
  if (updatedBefore !== undefined) filters.push(compared('updated', '<', Date.parse(updatedBefore)));
  for (const [name, value] of Object.entries(metadata)) filters.push(among('metadata', [pairValue(name, value)]));
  return filters;
}
