import { invalidField } from '@commonplace/kit/errors';
import {
  type Approval,
  ApprovalKind,
  ApprovalRemember,
  ApprovalStatus,
} from '@commonplace/proto/agents/v1/approval.js';
import type { DecideApprovalRequest } from '@commonplace/proto/agents/v1/approval_service.js';
import { ANSWER_FIELD, answerFields, inputText } from './fields.js';

const NOTHING = Buffer.alloc(0);

/**
 * Reads the decision from a submitted form of the approval's page. An input that was not edited is omitted, so that the
 * run keeps its own. Throws `invalid_json` and `missing_field`.
 */
export function decisionOf(approval: Approval, body: Readonly<Record<string, unknown>>): DecideApprovalRequest {
  const isApproved = body.decision === 'approve';
  if (!isApproved && body.decision !== 'deny') throw invalidField('decision', 'missing_field', 'Approve or deny.');
  const isQuestion = approval.kind === ApprovalKind.QUESTION;
  const comment = String(body.comment ?? '').trim();
  return {
    approvalId: approval.id,
    status: isApproved ? ApprovalStatus.APPROVED : ApprovalStatus.DENIED,
    decision: '',
    comment: comment === '' ? undefined : comment,
    editedInput: isApproved && !isQuestion ? editedInput(approval, body) : NOTHING,
    remember: isApproved && body.remember === 'on' ? ApprovalRemember.RUN : ApprovalRemember.NONE,
    answer: isApproved && isQuestion ? answerOf(approval, body) : NOTHING,
  };
}

function editedInput(approval: Approval, { input }: Readonly<Record<string, unknown>>): Buffer {
  const text = String(input ?? '').trim();
  // Browsers send line breaks as CR LF.
  if (text === '' || text.replace(/\r\n/g, '\n') === inputText(approval)) return NOTHING;
  try {
    return Buffer.from(JSON.stringify(JSON.parse(text)));
  } catch {
    throw invalidField('input', 'invalid_json', 'input is no JSON: look for a missing quote or comma.');
  }
}

function answerOf(approval: Approval, body: Readonly<Record<string, unknown>>): Buffer {
  const answer: Record<string, unknown> = {};
  for (const { name, type } of answerFields(approval)) {
    const text = String(body[ANSWER_FIELD + name] ?? '').trim();
    if (type === 'boolean') answer[name] = text === 'on';
    else if (text === '') continue;
    else answer[name] = type === 'number' ? Number(text) : text;
  }
  return Buffer.from(JSON.stringify(answer));
}
