import type { Document } from 'mongodb';

/** Returns whether a query plan avoids reading the whole collection and sorts by an index, and the plan as text. */
export function explainPlan(answer: Document): { indexed: boolean; plan: string } {
  const winning = (answer.queryPlanner as Document | undefined)?.winningPlan as Document | undefined;
  const root = (winning?.queryPlan as Document | undefined) ?? winning ?? {};
  return { indexed: !needsScan(root, false), plan: JSON.stringify(root) };
}

/**
 * Returns whether a plan stage scans or sorts. `filtered` says that a stage above drops some of what this one reads.
 */
function needsScan(stage: Document, filtered: boolean): boolean {
  if (stage.stage === 'COLLSCAN' || stage.stage === 'SORT') return true;
  const drops = filtered || stage.filter !== undefined;
  if (stage.stage === 'IXSCAN' && drops && isUnbounded(stage.indexBounds)) return true;
  const inner = [stage.inputStage, ...((stage.inputStages as Document[] | undefined) ?? [])];
  return inner.some((next) => next !== undefined && needsScan(next as Document, drops));
}

/** Returns whether an index is read from end to end, only for its order. */
function isUnbounded(bounds: unknown): boolean {
  const ranges = Object.values((bounds ?? {}) as Record<string, string[]>).flat();
  return ranges.every((range) => /^[[(](MinKey|MaxKey), (MinKey|MaxKey)[\])]$/.test(range));
}
