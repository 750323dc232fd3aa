import type { CallContext } from '@commonplace/kit/rpc';
import type { IndexAnswer, SearchIndex } from '../index/port.js';
import type { FilledPage, FoundPlace, Question } from './found.js';
import { MAX_REFILLS, OVERFETCH, recheck, type TreeOwner } from './recheck.js';
import { recount } from './recount.js';

/**
 * Returns a page of keyword results that the caller may read; refused hits are replaced. Rejects with `IndexFailure`.
 */
export async function pageByWords(
  index: SearchIndex,
  resources: TreeOwner,
  { request, filter }: Question,
  context: CallContext,
): Promise<FilledPage> {
  const { plan, narrowing, fields, minScore, facets, highlight } = request;
  const question = { plan, narrowing, fields, minScore, highlight, filter };
  const found: FoundPlace[] = [];
  const first = await index.search({ ...question, facets, offset: request.offset, limit: request.limit });
  let answer: IndexAnswer = first;
  let next = request.offset;
  const refused = new Set<string>();
  let more = false;
  for (let refills = 0; ; refills++) {
    const readable = await recheck(resources, answer.hits, context);
    for (const hit of answer.hits) {
      const resource = readable.get(hit.id);
      if (found.length === request.limit) {
        more ||= resource !== undefined;
        continue;
      }
      next++;
      if (resource === undefined) refused.add(hit.id);
      else found.push({ hit, resource, score: hit.score, keyword: hit.score, byMeaning: false });
    }
    if (found.length === request.limit || !answer.more || refills === MAX_REFILLS) break;
    const missing = request.limit - found.length;
    answer = await index.search({ ...question, offset: next, limit: missing * OVERFETCH });
  }
  more ||= answer.more;
  const allExamined = request.offset === 0 && !more;
  const counts = await recount(first, refused, allExamined, { request, filter }, (admitted) =>
    index.search({ ...question, filter: admitted, facets, offset: 0, limit: 1, highlight: false, bare: true }),
  );
  const total = found.length === 0 ? counts.total : Math.max(request.offset + found.length, counts.total);
  return { ...counts, found, total, complete: first.complete, more, next };
}
