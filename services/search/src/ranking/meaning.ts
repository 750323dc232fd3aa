import type { CallContext } from '@commonplace/kit/rpc';
import type { ModelVector, SearchIndex } from '../index/port.js';
import type { FilledPage, FoundPlace, Question } from './found.js';
import { MAX_REFILLS, OVERFETCH, recheck, type TreeOwner } from './recheck.js';

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
  let next = offset;
  for (let refills = 0; ; refills++) {
    const allowed = await recheck(resources, answer.places, context);
    for (const { id, ...place } of answer.places) {
      if (found.length === limit) break;
      next++;
      const resource = allowed.get(id);
      if (resource !== undefined) found.push({ ...place, resource });
    }
    if (found.length === limit || next >= answer.ranked || refills === MAX_REFILLS) break;
    const missing = limit - found.length;
    answer = await index.rank({ request, filter, vector, offset: next, limit: missing * OVERFETCH });
  }
  const { facets, totalIsEstimate, complete } = first;
  const left = first.total - (next - offset - found.length);
  const total = found.length === 0 ? left : Math.max(offset + found.length, left);
  return { found, facets, total, totalIsEstimate, complete, more: next < answer.ranked, next };
}
