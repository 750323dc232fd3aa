import type { FormPageCondition, FormPageField } from '@commonplace/proto/resources/v1/form_page_service.js';

const WORDS: Readonly<Record<string, string>> = {
  eq: 'is',
  neq: 'is not',
  contains: 'has',
  not_contains: 'does not have',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of',
  empty: 'has no answer',
  not_empty: 'has an answer',
  before: 'is before',
  after: 'is after',
};

/**
 * Describes when a question has to be answered; undefined if it has no condition. Visitors without scripts always see
 * the question, so they need the text.
 */
export function conditionText(
  condition: FormPageCondition | undefined,
  fields: readonly FormPageField[],
): string | undefined {
  if (condition === undefined) return undefined;
  const asked = fields.find(({ id }) => id === condition.fieldId);
  const value = jsonOf(condition.value);
  const shown = [value].flat().filter((one) => one !== undefined);
  const labels = shown.map((one) => {
    if (typeof one === 'boolean') return one ? 'ticked' : 'not ticked';
    return `“${asked?.options.find((option) => option.value === one)?.label ?? String(one)}”`;
  });
  return `Only if “${asked?.label ?? condition.fieldId}” ${[WORDS[condition.op], labels.join(', ')].filter(Boolean).join(' ')}.`;
}

/** Parses a value that arrived as JSON; undefined if it is empty. */
export function jsonOf(bytes: Uint8Array): unknown {
  return bytes.length === 0 ? undefined : (JSON.parse(Buffer.from(bytes).toString('utf8')) as unknown);
}
