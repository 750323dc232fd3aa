import type { Fault } from '@commonplace/kit/errors';
import type { Deriver } from '../documents/kind/deriver.js';
import type { FormField } from './field.js';
import type { FormFaults } from './reader.js';
import type { AnswerPattern } from './values.js';

/** Returns a fault for each answer that does not match the pattern of its field. */
export type FindMismatches = (tenant: string, answers: readonly AnswerPattern[]) => Promise<Fault[]>;

const MESSAGES = {
  differs: 'does not match the required pattern.',
  late: 'takes too long to match against the required pattern.',
} as const;

export function createFindMismatches(deriver: Pick<Deriver, 'matchPatterns'>): FindMismatches {
  return async (tenant, answers) => {
    if (answers.length === 0) return [];
    const checks = answers.map(({ pattern, text }) => ({ pattern, text }));
    const verdicts = await deriver.matchPatterns(tenant, checks);
    return answers.flatMap(({ param }, i) => {
      const verdict = verdicts === undefined ? 'late' : (verdicts[i] ?? 'late');
      return verdict === 'matches' ? [] : [{ param, code: 'invalid_value', message: MESSAGES[verdict] }];
    });
  };
}

/**
 * Adds a fault for each pattern of a form that cannot be used. Unchanged patterns are not checked: one that was stored
 * before this rule is matched within a time budget.
 */
export async function checkFieldPatterns(
  deriver: Pick<Deriver, 'findPatternFaults'>,
  tenant: string,
  fields: readonly FormField[],
  before: readonly FormField[],
  faults: FormFaults,
): Promise<void> {
  const former = new Map(before.map(({ id, pattern }) => [id, pattern]));
  const changed = fields.flatMap(({ id, pattern }, i) =>
    pattern === undefined || former.get(id) === pattern ? [] : [{ param: `config.fields[${i}].pattern`, pattern }],
  );
  if (changed.length === 0) return;
  const found = await deriver.findPatternFaults(
    tenant,
    changed.map(({ pattern }) => pattern),
  );
  changed.forEach(({ param }, i) => {
    const fault = found[i];
    if (fault !== undefined) faults.add(param, 'invalid_value', fault);
  });
}
