import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';
import type { TaintSource } from '../domain/taint.js';
import type { Preview, Risk, ToolAction } from '../domain/tool-plan.js';
import type { ApprovalPolicy } from './agents.js';

export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired' | 'canceled' | 'superseded';
export type ApprovalKind = 'tool_call' | 'publish' | 'share' | 'delete' | 'spend' | 'question' | 'retry';

/** Who decides, as the policies have said when the approval was opened. They are resolved to people at each decision. */
export interface ApprovalTerms {
  readonly approvers: ApprovalPolicy['approvers'];
  /** Whom the request of the run has named besides: of both, those who are in both. */
  readonly alsoAmong?: ApprovalPolicy['approvers'] | undefined;
  readonly fourEyes: boolean;
  readonly timeoutSeconds: number;
  readonly onTimeout: ApprovalPolicy['onTimeout'];
}

/** A call of a tool that waits for a person's decision; while it is pending, a job that ends it when its time is over. */
export interface ApprovalRecord extends JobRecord {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId?: string | undefined;
  readonly runId: string;
  readonly stepId: string;
  readonly agentId?: string | undefined;
  readonly agentName?: string | undefined;
  readonly agentOwnerId?: string | undefined;
  /** The person who started the run, and the credential. */
  readonly runUserId: string;
  readonly runCredentialId: string;

  readonly kind: ApprovalKind;
  readonly title: string;
  readonly toolName: string;
  readonly serverId?: string | undefined;
  readonly action: ToolAction;
  /** Absent once they have been erased. */
  readonly input?: unknown;
  readonly preview?: Preview | undefined;
  readonly inputHash: string;
  readonly toolHash: string;
  readonly policyHash: string;
  /** The schema that an edited input follows. */
  readonly inputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly risk: Risk;
  readonly taintSources: readonly TaintSource[];
  readonly terms: ApprovalTerms;
  /** Who may decide as it was opened, for lists. */
  readonly approverIds: readonly string[];
  /** Whether the workspace's administrators may decide. */
  readonly asksAdmins: boolean;

  /** For a question: the schema of its answer, a page to open instead, and what its tool is given back. */
  readonly requestedSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly url?: string | undefined;
  readonly questionState?: string | undefined;
  readonly answer?: Readonly<Record<string, unknown>> | undefined;

  readonly status: ApprovalState;
  /** 0 while it is pending, so that those come first. */
  readonly rank: 0 | 1;
  readonly requestedAt: string;
  readonly expiresAt: string;
  /** While it is pending: when it expires. */
  readonly dueAt?: string | undefined;
  readonly decidedBy?: Actor | undefined;
  readonly deciderId?: string | undefined;
  readonly decidedAt?: string | undefined;
  readonly comment?: string | undefined;
  readonly editedInput?: Readonly<Record<string, unknown>> | undefined;
  readonly executedInputHash?: string | undefined;
  readonly supersededBy?: string | undefined;
  readonly reason?: 'no_approver' | 'timeout' | 'run_ended' | undefined;
  readonly deleteAt?: string | undefined;
}

export const approvalCollection: CollectionSpec<ApprovalRecord> = {
  name: 'approvals',
  indexes: [
    { fields: ['runId', 'rank'] },
    { fields: ['runUserId', 'rank', 'requestedAt'] },
    { fields: ['approverIds'], many: true },
    { fields: ['deciderId', 'rank', 'requestedAt'], sparse: true },
    { fields: ['workspaceId', 'rank', 'requestedAt'], sparse: true },
    { fields: ['tenant'] },
    { fields: ['dueAt'] },
    { fields: ['deleteAt'] },
    DEAD_INDEX,
  ],
  expires: 'deleteAt',
};

export const approvalQueue: QueueSpec<ApprovalRecord> = {
  name: 'agents.approvals',
  collection: approvalCollection,
  due: 'dueAt',
  waiting: { field: 'status', values: ['pending'] },
  describe: ({ id, runId, tenant }) => `approval ${id} of run ${runId} in ${tenant}`,
  keptBecause: () => 'its run waits for it',
};
