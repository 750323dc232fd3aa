const TYPES = ['web', 'mcp', 'webhook', 'form', 'import', 'guest', 'file', 'agent'] as const;
type TaintType = (typeof TYPES)[number];

export const isTaintType = (type: string): type is TaintType => (TYPES as readonly string[]).includes(type);

/** Untrusted content that a run has read: who wrote it is no person of the tenant with at least the role commenter. */
export interface TaintSource {
  readonly type: TaintType;
  /** Id of the resource, or the URL or the name of the server. */
  readonly id: string;
  readonly name: string;
}

/** Returns each taint once. */
export function distinctTaints(taints: readonly TaintSource[]): TaintSource[] {
  return [...new Map(taints.map((taint) => [`${taint.type} ${taint.id}`, taint])).values()];
}
