import { type Approval, ApprovalKind, ApprovalRisk, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';

export const RISKS: Readonly<Partial<Record<ApprovalRisk, string>>> = {
  [ApprovalRisk.LOW]: 'Low',
  [ApprovalRisk.MEDIUM]: 'Medium',
  [ApprovalRisk.HIGH]: 'High',
};

const ENDED: Readonly<Partial<Record<ApprovalStatus, string>>> = {
  [ApprovalStatus.APPROVED]: 'This was approved.',
  [ApprovalStatus.DENIED]: 'This was denied.',
  [ApprovalStatus.EXPIRED]: 'Nobody decided in time.',
  [ApprovalStatus.CANCELED]: 'The run ended before anybody decided.',
  [ApprovalStatus.SUPERSEDED]: 'The tool or the policy has changed since, so that the run asks anew.',
};

/** Describes how an approval ended; undefined while it is pending. */
export function endOf({ status, decidedBy, decidedAt }: Approval): string | undefined {
  const end = ENDED[status];
  if (end === undefined || decidedBy === undefined) return end;
  return `${end.slice(0, -1)} by ${decidedBy.name} on ${timeText(decidedAt)}.`;
}

/** Kinds of approvals whose decision applies to a single call. */
const ONCE_ONLY: ReadonlySet<ApprovalKind> = new Set([
  ApprovalKind.SHARE,
  ApprovalKind.PUBLISH,
  ApprovalKind.DELETE,
  ApprovalKind.SPEND,
  ApprovalKind.RETRY,
  ApprovalKind.QUESTION,
]);

/** Returns whether a decision may apply to the rest of the run. */
export function canBeRemembered({ kind, risk }: Approval): boolean {
  return risk !== ApprovalRisk.HIGH && !ONCE_ONLY.has(kind);
}

/** Formats a time as `2026-11-23 14:05 UTC`; empty if there is no time. */
export function timeText(time: string | undefined): string {
  return time === undefined ? '' : `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}
