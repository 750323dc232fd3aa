import type { SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { IndexAnswer } from '../index/port.js';
import type { Question } from './found.js';

type Counts = Pick<IndexAnswer, 'facets' | 'total' | 'totalIsEstimate'>;

/**
 * Returns what an index counts, without the hits that were refused. There are some only while the index lags behind the
 * tree, and then there may be more among the hits that were not examined, so the total is an estimate unless all were.
 */
export async function recount(
  counted: Counts,
  refused: ReadonlySet<string>,
  allExamined: boolean,
  { filter }: Question,
  count: (filter: SearchFilter) => Promise<Counts>,
): Promise<Counts> {
  const { facets, total, totalIsEstimate } = counted;
  if (refused.size === 0) return { facets, total, totalIsEstimate };
  const lost = [...refused].map((resourceId) => ({ resourceId, boundaryId: '', keptIds: [] }));
  const again = await count({ ...filter, lost: [...filter.lost, ...lost] });
  return {
    facets: again.facets,
    total: again.total,
    totalIsEstimate: again.totalIsEstimate || !allExamined,
  };
}
