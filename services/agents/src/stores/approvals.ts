import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';
import type { TaintSource } from '../domain/taint.js';
import type { Preview, Risk, ToolAction } from '../domain/tool-plan.js';
import type { ApprovalPolicy } from './agents.js';

type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired' | 'canceled' | 'superseded';
export type ApprovalKind = 'tool_call' | 'publish' | 'share' | 'delete' | 'spend' | 'question' | 'retry';

/**
 * The rules for deciding an approval, from the policies when it was opened. The people are determined at each decision.
 */
export interface ApprovalTerms {
  readonly approvers: ApprovalPolicy['approvers'];
  /** The approvers of the run's request. Only people in both sets may decide. */
  readonly alsoAmong?: ApprovalPolicy['approvers'] | undefined;
  readonly fourEyes: boolean;
  readonly timeoutSeconds: number;
  readonly onTimeout: ApprovalPolicy['onTimeout'];
}

/** A call of a tool that needs a person's decision. While it is pending, the record is also the job that expires it. */
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
  /** The person who started the run, and the credential used. */
  readonly runUserId: string;
  readonly runCredentialId: string;

  readonly kind: ApprovalKind;
  readonly title: string;
  readonly toolName: string;
  readonly serverId?: string | undefined;
  readonly action: ToolAction;
  /** Absent after it was erased. */
  readonly input?: unknown;
  readonly preview?: Preview | undefined;
  /** The resources that title, input and preview are about; absent in approvals of earlier versions. */
  readonly resourceIds?: readonly string[] | undefined;
  readonly inputHash: string;
  readonly toolHash: string;
  readonly policyHash: string;
  /** The schema that an edited input has to follow. */
  readonly inputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly risk: Risk;
  readonly taintSources: readonly TaintSource[];
  readonly terms: ApprovalTerms;
  /** The approvers when it was opened, for lists. */
  readonly approverIds: readonly string[];
  /** Whether administrators of the workspace may decide. */
  readonly asksAdmins: boolean;

  /** For a question: the schema of the answer, a page to open instead, and the state for the tool. */
  readonly requestedSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly url?: string | undefined;
  readonly questionState?: string | undefined;
  readonly answer?: Readonly<Record<string, unknown>> | undefined;

  readonly status: ApprovalState;
  /** 0 while it is pending, so that pending approvals sort first. */
  readonly rank: 0 | 1;
  readonly requestedAt: string;
  readonly expiresAt: string;
  /** When it expires; absent if it is not pending. */
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
