import type { Faults } from '@commonplace/kit/errors';
import type { Rules } from '@commonplace/proto/api/v1/access.js';
import { isClean } from './text.js';

/** Parameters that fill a PageRequest. */
export const PAGE_KEYS: ReadonlySet<string> = new Set(['limit', 'offset', 'cursor']);
export const DEFAULT_LIMIT = 50;
export const MAX_LIMIT = 200;
/** Maximum of offset plus limit. Beyond it, clients have to read a list by cursor. */
export const MAX_DEPTH = 10_000;
export const MAX_CURSOR = 4096;

interface PageRequest {
  limit: number;
  offset: number;
  cursor: string;
}

/**
 * Reads which page of a list the client asks for. A limit that is too large is clamped; null means the same as absent.
 */
export function readPage(given: Record<string, unknown>, rules: Rules, faults: Faults): PageRequest {
  const most = rules.maxLimit > 0 ? rules.maxLimit : MAX_LIMIT;
  const usual = rules.defaultLimit > 0 ? rules.defaultLimit : DEFAULT_LIMIT;
  const limit = whole(given, 'limit', 1, faults) ?? usual;
  const offset = whole(given, 'offset', 0, faults);
  const page = { limit: Math.min(limit, most), offset: offset ?? 0, cursor: cursorOf(given, faults) };
  if (page.cursor !== '' && offset !== undefined) {
    faults.add('cursor', 'invalid_pagination', 'and offset exclude each other.');
  }
  if (page.offset + page.limit > MAX_DEPTH) {
    faults.add(
      'offset',
      'offset_too_deep',
      `and limit together must be ${MAX_DEPTH} or less; only next_cursor goes on, where a page has it.`,
    );
  }
  return page;
}

function whole(given: Record<string, unknown>, key: string, least: number, faults: Faults): number | undefined {
  const value = given[key] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least) return value;
  return faults.add(key, 'invalid_pagination', `must be a whole number, ${least} or more.`);
}

function cursorOf(given: Record<string, unknown>, faults: Faults): string {
  const value = given.cursor ?? '';
  if (typeof value === 'string' && value.length <= MAX_CURSOR && isClean(value)) return value;
  faults.add('cursor', 'invalid_pagination', 'must be the next_cursor of a page.');
  return '';
}
