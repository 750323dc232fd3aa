import { jsonBytes } from '@commonplace/kit/json';
import { actorMessage } from '@commonplace/platform/actors';
import { enumValue } from '@commonplace/platform/enums';
import { type Approval, ApprovalKind, ApprovalRisk, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import { namedTaints } from '../domain/taint.js';
import type { ApprovalRecord } from '../stores/approvals.js';

const bytesOf = (value: unknown): Buffer => (value === undefined ? Buffer.alloc(0) : jsonBytes(value));

export function approvalMessage(approval: ApprovalRecord, canDecide: boolean): Approval {
  const { preview, toolName, serverId, decidedBy, taintSources } = approval;
  return {
    id: approval.id,
    runId: approval.runId,
    agentId: approval.agentId,
    workspaceId: approval.workspaceId,
    kind: enumValue(ApprovalKind, approval.kind),
    title: approval.title,
    tool: { serverId, name: toolName },
    input: bytesOf(approval.input),
    inputHash: approval.inputHash,
    preview: preview && {
      text: preview.text,
      targets: [...preview.targets],
      recipients: [...preview.recipients],
      hosts: [...preview.hosts],
    },
    risk: enumValue(ApprovalRisk, approval.risk),
    status: enumValue(ApprovalStatus, approval.status),
    requestedAt: approval.requestedAt,
    expiresAt: approval.expiresAt,
    decidedBy: decidedBy && actorMessage(decidedBy),
    decidedAt: approval.decidedAt,
    comment: approval.comment,
    editedInput: bytesOf(approval.editedInput),
    executedInputHash: approval.executedInputHash,
    tainted: taintSources.length > 0,
    taintSources: namedTaints(taintSources, approval.runId),
    requestedSchema: bytesOf(approval.requestedSchema),
    url: approval.url,
    supersededBy: approval.supersededBy,
    reason: approval.reason,
    canDecide,
    version: approval.version,
    withheld: false,
  };
}

/** Converts an approval for a person who cannot read what its call is about. */
export function withheldApproval(approval: ApprovalRecord): Approval {
  const { input: _, preview: __, editedInput: ___, comment: ____, ...rest } = approval;
  const message = approvalMessage({ ...rest, title: approval.toolName }, false);
  return { ...message, taintSources: [], withheld: true };
}
