export type ConditionOp =
  | ('eq' | 'neq' | 'contains' | 'not_contains' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'empty' | 'not_empty')
  | ('before' | 'after' | 'exists' | 'not_exists' | 'changed' | 'changed_to' | 'matches_tag');

export interface SimpleCondition {
  readonly path: string;
  readonly op: ConditionOp;
  readonly value?: unknown;
}

/** A condition, or a group of conditions of which at least one has to hold. */
export type StoredCondition = SimpleCondition | { readonly any: readonly SimpleCondition[] };
