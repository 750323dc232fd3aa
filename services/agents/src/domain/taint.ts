const TYPES = ['web', 'mcp', 'webhook', 'form', 'import', 'guest', 'file', 'agent'] as const;
type TaintType = (typeof TYPES)[number];

export const isTaintType = (type: string): type is TaintType => (TYPES as readonly string[]).includes(type);

/**
 * A source of untrusted content that a run has read: it was not written by a person of the tenant with at least the
 * role commenter.
 */
export interface TaintSource {
  readonly type: TaintType;
  /** The id of the resource, or the URL or name of the server. */
  readonly id: string;
  readonly name: string;
}

/** Returns the taints without duplicates. */
export function distinctTaints(taints: readonly TaintSource[]): TaintSource[] {
  return [...new Map(taints.map((taint) => [`${taint.type} ${taint.id}`, taint])).values()];
}

/** Returns the taint for a run whose sources are not known, because it was erased or no longer exists. */
export const unknownTaint = (runId: string): TaintSource => ({ type: 'agent', id: runId, name: 'Agent' });

/** Returns the sources that a run names; after it was erased it names none. */
export const namedTaints = (taints: readonly TaintSource[] = [], runId: string): TaintSource[] =>
  taints.filter(({ id }) => id !== runId);
