import type { CallContext } from '@commonplace/kit/rpc';
import { invalidCursor } from '@commonplace/kit/store';
import type {
  Event,
  ListEventsRequest,
  ListEventsResponse,
} from '@commonplace/proto/messaging/v1/event_stream_service.js';
import { visibleData } from './access.js';
import { createPositions } from './positions.js';
import { View } from './view.js';
import type { WatchParts } from './watch.js';
import { eventMessage } from './wire.js';

/** Number of events that one query reads, and maximum number that one request reads. */
const PAGE = 200;
const MAX_READ = 2_000;

/** Returns a page of the kept events that the caller may see, oldest first. */
export async function listEvents(
  parts: WatchParts,
  { page, ...wanted }: ListEventsRequest,
  context: CallContext,
): Promise<ListEventsResponse> {
  const { limit = 0, offset = 0, cursor = '' } = page ?? {};
  const view = await View.open(parts, wanted, context);
  await parts.eventLog.keepFor([...view.tenants]);
  const head = await parts.eventLog.head();
  const positions = createPositions(Buffer.from(head.key, 'base64'));
  const from = cursor === '' ? { seq: 0, at: 0 } : positions.read(cursor);
  if (from === undefined) throw invalidCursor();
  const keptSince = new Date(parts.now() - parts.eventLog.keepMs).toISOString();
  const items: Event[] = [];
  let { seq, at } = from;
  let left = offset;
  for (let read = 0, more = true; more && read < MAX_READ + offset && items.length <= limit; read += PAGE) {
    const where = { tenant: { in: [...view.tenants] }, seq: { gt: seq } };
    const found = await parts.streamEvents.find({ where, sort: ['seq'], limit: PAGE });
    more = found.length === PAGE;
    const events = found.filter((event) => event.type !== 'reset' && event.keptAt > keptSince && view.has(event));
    const data = await visibleData(parts, view, events);
    for (const [i, event] of events.entries()) {
      const seen = data[i];
      if (seen === undefined || left-- > 0) continue;
      if (items.length === limit) return answer(positions.write({ seq, at }));
      items.push(eventMessage(event, seen));
      seq = event.seq;
      at = Date.parse(event.keptAt);
    }
    seq = found.at(-1)?.seq ?? seq;
    if (!more) return answer(undefined);
  }
  return answer(positions.write({ seq, at }));

  function answer(nextCursor: string | undefined): ListEventsResponse {
    const hasMore = nextCursor !== undefined;
    const total = offset - Math.max(left, 0) + items.length + (hasMore ? 1 : 0);
    // Among many events that the caller may not see a page can be empty. An offset would lead to the same page again.
    const nextOffset = hasMore && cursor === '' && items.length > 0 ? offset + items.length : undefined;
    return { items, page: { limit, offset, total, totalIsEstimate: hasMore, hasMore, nextOffset, nextCursor } };
  }
}
