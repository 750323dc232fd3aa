import { decodeCursor, invalidCursor, type Scalar } from '@commonplace/kit/store';
import type { TableState } from './compute.js';
import { idFinder } from './find-rows.js';
import type { Breathe } from './slices.js';

/** Number of rows after a page whose ids its cursor contains, in case the last row of the page is deleted. */
export const NEXT_ROWS = 3;

/** The position where a page of rows ended. */
interface RowCursor {
  /** Id of the page's last row. */
  readonly last: string;
  /** Number of rows up to and including it. */
  readonly offset: number;
  /** Total number of rows at that time; cursors of an earlier version lack it, and `next` too. */
  readonly total?: number;
  /** Ids of the rows after it. */
  readonly next: readonly string[];
}

export function rowCursorValues({ last, offset, total = 0, next }: RowCursor): readonly Scalar[] {
  return [last, offset, total, ...next];
}

/** Decodes a cursor. Throws `invalid_pagination`. */
export function readRowCursor(text: string): RowCursor {
  const [last, offset, total, ...next] = decodeCursor(text);
  const isRead =
    typeof last === 'string' &&
    isCount(offset) &&
    (total === undefined || isCount(total)) &&
    next.length <= NEXT_ROWS &&
    next.every((id) => typeof id === 'string');
  if (!isRead) throw invalidCursor();
  return { last, offset, next: next as string[], ...(isCount(total) && { total }) };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Returns whether the last row of a cursor's page is still at the same position. */
export function isUnmoved({ view }: TableState, order: Uint32Array, { last, offset }: RowCursor): boolean {
  return offset > 0 && offset <= order.length && view.row(order[offset - 1] as number).id === last;
}

/**
 * Returns where the next page begins among all rows in order: after the last row, or at the first of the next rows that
 * still exists. If none of them exists, it begins earlier by the number of rows that were lost, so it may repeat rows,
 * but skips none because of deletions.
 */
export async function placeBehind(
  state: TableState,
  order: Uint32Array,
  { last, offset, total = order.length, next }: RowCursor,
  breathe: Breathe,
): Promise<number> {
  const numberOf = await idFinder(state, true, breathe);
  const placeOf = (id: string): number => {
    const number = numberOf(id);
    return number === undefined ? -1 : order.indexOf(number);
  };
  const behind = placeOf(last) + 1;
  if (behind > 0) return behind;
  const first = next.map(placeOf).find((place) => place >= 0);
  return first ?? Math.max(0, Math.min(offset, order.length) - Math.max(0, total - order.length));
}
