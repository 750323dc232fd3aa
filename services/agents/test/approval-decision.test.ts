import { ApprovalRemember, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import { afterAll, expect, test } from '@jest/globals';
import { readDecision } from '../src/approvals/decision.js';
import { openSchemaChecks } from '../src/schemas/index.js';
import type { ApprovalRecord } from '../src/stores/approvals.js';

/** The values of a decision are checked against schemas of untrusted servers. */

const schemas = openSchemaChecks();
afterAll(() => schemas.close());

const REQUEST = {
  ...{ approvalId: 'a', status: ApprovalStatus.APPROVED, decision: '', comment: undefined },
  ...{ editedInput: Buffer.alloc(0), remember: ApprovalRemember.UNSPECIFIED, answer: Buffer.alloc(0) },
};
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const ENDLESS = { type: 'object', properties: { name: { type: 'string', pattern: '^(a+)+$' } } };
const LONG = { name: `${'a'.repeat(60)}!` };

test.each([
  ['edited input', { kind: 'tool_call', inputSchema: ENDLESS }, { editedInput: bytes(LONG) }],
  ['an answer', { kind: 'question', requestedSchema: ENDLESS }, { answer: bytes(LONG) }],
])('a regular expression that never ends does not block the check of %s', async (_, approval, decision) => {
  const read = readDecision(schemas, { ...REQUEST, ...decision }, approval as unknown as ApprovalRecord);
  await expect(read).rejects.toMatchObject({ reason: 'approval_input_invalid' });
});
