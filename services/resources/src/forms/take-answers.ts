import { invalidFields } from '@commonplace/kit/errors';
import type { Binding } from './columns.js';
import type { FindMismatches } from './patterns.js';
import { type Answers, readValues } from './values.js';

/** The fields of a form, bound to the columns of its table. */
interface BoundForm extends Binding {
  readonly tenant: string;
}

/** Validates and converts the values of a submission, and matches their patterns. Throws one error with all faults. */
export async function takeAnswers(
  { tenant, fields, disabled }: BoundForm,
  input: Readonly<Record<string, unknown>>,
  findMismatches: FindMismatches,
): Promise<Answers> {
  const { answers, faults } = readValues(fields, disabled, input);
  const all = [...faults, ...(await findMismatches(tenant, answers.patterns))];
  if (all.length > 0) throw invalidFields(all);
  return answers;
}
