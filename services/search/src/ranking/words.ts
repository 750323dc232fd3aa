import type { CallContext } from '@commonplace/kit/rpc';
import type { IndexAnswer, SearchIndex } from '../index/port.js';
import type { FilledPage, Found, Question } from './found.js';
import { MAX_REFILLS, OVERFETCH, recheck, type TreeOwner } from './recheck.js';

/**
 * Returns a page of keyword results that the caller may read; refused hits are replaced. Rejects with `IndexFailure`.
 */
export async function pageByWords(
  index: SearchIndex,
  resources: TreeOwner,
  { asked, filter }: Question,
  context: CallContext,
): Promise<FilledPage> {
  const { plan, narrowing, fields, minScore, facets, highlight } = asked;
  const question = { plan, narrowing, fields, minScore, highlight, filter };
  const found: Found[] = [];
  const first = await index.search({ ...question, facets, offset: asked.offset, limit: asked.limit });
  let answer: IndexAnswer = first;
  let next = asked.offset;
  let refused = 0;
  let more = false;
  for (let refills = 0; ; refills++) {
    const readable = await recheck(resources, answer.hits, context);
    for (const hit of answer.hits) {
      const resource = readable.get(hit.id);
      if (found.length === asked.limit) {
        more ||= resource !== undefined;
        continue;
      }
      next++;
      if (resource === undefined) refused++;
      else found.push({ hit, resource, score: hit.score, keyword: hit.score, byMeaning: false });
    }
    if (found.length === asked.limit || !answer.more || refills === MAX_REFILLS) break;
    const missing = asked.limit - found.length;
    answer = await index.search({ ...question, offset: next, limit: missing * OVERFETCH });
  }
  const { totalIsEstimate, complete } = first;
  const left = first.total - refused;
  const total = found.length === 0 ? left : Math.max(asked.offset + found.length, left);
  return { found, facets: first.facets, total, totalIsEstimate, complete, more: more || answer.more, next };
}
