import type { Api } from './client.js';
import type { List, Page } from './records.js';

/** Calls `act` for every item, `width` at a time. Returns the results in the order of the items. */
export async function forEach<T, R>(
  items: readonly T[],
  width: number,
  act: (item: T, at: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await act(items[at] as T, at);
  };
  await Promise.all(Array.from({ length: width }, work));
  return results;
}

interface Walked<T> {
  readonly items: readonly T[];
  readonly pages: readonly Page[];
}

/** Reads a whole list page by page, by offset or by cursor. */
export async function walk<T>(api: Api, path: string, by: 'offset' | 'cursor', limit = 200): Promise<Walked<T>> {
  const items: T[] = [];
  const pages: Page[] = [];
  for (let from = ''; ; ) {
    const reply = await api.get<List<T>>(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}${from}`);
    items.push(...reply.data.items);
    pages.push(reply.page);
    const { has_more: hasMore, next_offset: offset, next_cursor: cursor } = reply.page;
    if (!hasMore) return { items, pages };
    if (pages.length > 1000) throw new Error(`${path} has more than 1,000 pages`);
    from = by === 'offset' ? `&offset=${offset}` : `&cursor=${encodeURIComponent(cursor ?? '')}`;
  }
}
