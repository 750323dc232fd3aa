import type { Document } from 'mongodb';

/** Whether a query planner's answer reads less than the whole collection, and sorts by an index. */
export function explainPlan(answer: Document): { indexed: boolean; plan: string } {
  const winning = (answer.queryPlanner as Document | undefined)?.winningPlan as Document | undefined;
  const root = (winning?.queryPlan as Document | undefined) ?? winning ?? {};
  return { indexed: !needsScan(root, false), plan: JSON.stringify(root) };
}

/** `filtered`: whether a stage above drops what this one reads. */
function needsScan(stage: Document, filtered: boolean): boolean {
  if (stage.stage === 'COLLSCAN' || stage.stage === 'SORT') return true;
  const drops = filtered || stage.filter !== undefined;
  if (stage.stage === 'IXSCAN' && drops && isUnbounded(stage.indexBounds)) return true;
  const inner = [stage.inputStage, ...((stage.inputStages as Document[] | undefined) ?? [])];
  return inner.some((next) => next !== undefined && needsScan(next as Document, drops));
}

/** An index that is read from end to end, only for its order. */
function isUnbounded(bounds: unknown): boolean {
  const ranges = Object.values((bounds ?? {}) as Record<string, string[]>).flat();
  return ranges.every((range) => /^[[(](MinKey|MaxKey), (MinKey|MaxKey)[\])]$/.test(range));
}
