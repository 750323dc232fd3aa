import { randomUUID } from 'node:crypto';
import { Approval, ApprovalKind, ApprovalRisk, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import type { AuthStage } from './auth-stage.js';

export const HOSTILE = `"><script>alert('1')</script><img src=x onerror=alert(1)>`;
export const INPUT = { resource_id: 'a', text: 'New words' };

/** Adds a pending approval. Returns the path of its page. */
export function addApproval(stage: AuthStage, fields: Parameters<typeof Approval.fromPartial>[0] = {}): string {
  const approval = Approval.fromPartial({
    id: randomUUID(),
    runId: randomUUID(),
    kind: ApprovalKind.TOOL_CALL,
    status: ApprovalStatus.PENDING,
    risk: ApprovalRisk.MEDIUM,
    title: 'Change the document Plans',
    tool: { name: 'write' },
    input: Buffer.from(JSON.stringify(INPUT)),
    preview: {
      text: ' Plans\n-Old words\n+New words',
      targets: ['Plans'],
      recipients: ['Grace'],
      hosts: ['mcp.example'],
    },
    requestedAt: '2026-11-23T14:00:00.000Z',
    expiresAt: '2026-11-24T14:00:00.000Z',
    canDecide: true,
    ...fields,
  });
  stage.approvals.set(approval.id, approval);
  return `/approvals/${approval.id}`;
}

/** A question of a tool, with a field of each kind. */
export const QUESTION = {
  kind: ApprovalKind.QUESTION,
  title: 'Which ticket?',
  requestedSchema: Buffer.from(
    JSON.stringify({
      type: 'object',
      properties: {
        number: { type: 'integer', title: 'Number of the ticket' },
        queue: { type: 'string', enum: ['bugs', 'wishes'], description: 'Where it is filed.' },
        urgent: { type: 'boolean', title: 'It is urgent' },
      },
      required: ['number'],
    }),
  ),
};
