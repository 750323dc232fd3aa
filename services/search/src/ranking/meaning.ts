import type { CallContext } from '@commonplace/kit/rpc';
import type { ModelVector, SearchIndex } from '../index/port.js';
import type { FilledPage, FoundPlace, Question } from './found.js';
import { MAX_REFILLS, OVERFETCH, recheck, type TreeOwner } from './recheck.js';
import { recount } from './recount.js';

/**
 * Returns a page by meaning, or by words and meaning, that the caller may read; refused places are replaced. Without a
 * vector only words count. Rejects with `IndexFailure`.
 */
export async function pageByMeaning(
  index: SearchIndex,
  resources: TreeOwner,
  { request, filter }: Question,
  vector: ModelVector | undefined,
  context: CallContext,
): Promise<FilledPage> {
  const { offset, limit } = request;
  const first = await index.rank({ request, filter, vector, offset, limit });
  const found: FoundPlace[] = [];
  let answer = first;
  const refused = new Set<string>();
  let next = offset;
  for (let refills = 0; ; refills++) {
    const allowed = await recheck(resources, answer.places, context);
    for (const { id, ...place } of answer.places) {
      if (found.length === limit) break;
      next++;
      const resource = allowed.get(id);
      if (resource === undefined) refused.add(id);
      else found.push({ ...place, resource });
    }
    if (found.length === limit || next >= answer.ranked || refills === MAX_REFILLS) break;
    const missing = limit - found.length;
    answer = await index.rank({ request, filter, vector, offset: next, limit: missing * OVERFETCH });
  }
  const more = next < answer.ranked;
  const allExamined = offset === 0 && !more && first.total <= first.ranked;
  const counts = await recount(first, refused, allExamined, { request, filter }, (admitted) =>
    index.rank({ request, filter: admitted, vector, offset: 0, limit: 0 }),
  );
  const total = found.length === 0 ? counts.total : Math.max(offset + found.length, counts.total);
  return { ...counts, found, total, complete: first.complete, more, next };
}
