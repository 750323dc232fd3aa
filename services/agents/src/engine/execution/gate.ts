import { AgentApprovalMinimum } from '@commonplace/proto/tenancy/v1/org.js';
import {
  canBeRemembered,
  decideCall,
  hashJson,
  hashPolicies,
  kindOf,
  type Policies,
  type Verdict,
} from '../../approvals/policy.js';
import type { ToolPlan } from '../../domain/tool-plan.js';
import type { AgentRecord } from '../../stores/agents.js';
import type { ApprovalRecord } from '../../stores/approvals.js';
import type { RunRecord, StepRecord } from '../../stores/runs.js';
import { requireStanding } from '../run-agent.js';
import type { Tool } from '../tools/tool.js';
import type { RunScope } from './scope.js';

/** A call is refused for good; the run ends if `endsRun` says so. */
export class CallDenied extends Error {
  constructor(
    readonly code: 'agent_paused' | 'approval_denied' | 'permission_lost',
    message: string,
    readonly endsRun = false,
  ) {
    super(message);
  }
}

/** What the gate has found about a call. */
export interface Admission extends Verdict {
  readonly policies: Policies;
  readonly policyHash: string;
  readonly agent: AgentRecord | undefined;
}

/**
 * Decides whether a call may be made: outside of the model, from what the tool would do, and from agent, policies and
 * settings as they are at that moment.
 */
export class Gate {
  constructor(private readonly scope: Pick<RunScope, 'parts' | 'job'>) {}

  private get run(): RunRecord {
    return this.scope.job.record;
  }

  /** Returns the run's agent as it is now; undefined for the built-in assistant. Throws for one that may not act. */
  async agent(): Promise<AgentRecord | undefined> {
    const { agentId } = this.run;
    if (agentId === undefined) return undefined;
    const agent = await this.scope.parts.agents.get(agentId);
    if (agent?.status === 'paused') throw new CallDenied('agent_paused', 'The agent is paused.', true);
    await requireStanding(this.scope.parts, this.run);
    return agent;
  }

  /** Decides of a call as agent, policies and the run's sources are now. Throws `CallDenied`. */
  async admit(tool: Tool, plan: ToolPlan): Promise<Admission> {
    const agent = await this.agent();
    if (agent !== undefined && tool.group !== undefined && !agent.tools.some((group) => group === tool.group)) {
      throw new CallDenied('permission_lost', `The agent does not have the tool ${tool.schema.name} any more.`);
    }
    const policies = await this.policies(agent);
    const verdict = decideCall(tool.schema.name, plan, policies, this.isTainted);
    if (verdict.decision === 'deny') {
      throw new CallDenied('approval_denied', 'The approval policy does not allow this call.');
    }
    const isRemembered = verdict.decision === 'ask' && !verdict.isForcedByTaint && this.remembers(tool, plan);
    const decision = isRemembered ? 'allow' : verdict.decision;
    return { ...verdict, decision, policies, policyHash: hashPolicies(policies), agent };
  }

  private get isTainted(): boolean {
    return (this.run.taintSources ?? []).length > 0;
  }

  /** Returns whether a person has allowed this tool for the rest of the run. What taint asks for is never remembered. */
  private remembers(tool: Tool, plan: ToolPlan): boolean {
    if (!canBeRemembered({ kind: kindOf(plan), risk: plan.risk }) || (this.isTainted && plan.isSink)) return false;
    return (this.run.remembered ?? []).some(
      ({ name, serverId, toolHash }) =>
        name === tool.schema.name && serverId === plan.serverId && toolHash === plan.toolHash,
    );
  }

  private async policies(agent: AgentRecord | undefined): Promise<Policies> {
    const { userId, orgId, pinnedPolicy, policy } = this.run;
    const { parts } = this.scope;
    const person = await parts.memberships.of(userId, parts.systemCall());
    const minimum = orgId === '' ? undefined : person.orgs.get(orgId)?.agentApprovalMinimum;
    return {
      current: agent?.policy,
      pinned: agent && (pinnedPolicy ?? agent.policy),
      request: policy,
      minimum: minimum === undefined ? undefined : MINIMA[minimum],
    };
  }

  /**
   * Returns whether an approval still holds for a call: the tool, its input and the policies are the same, and what taint
   * asks for was approved knowing of it.
   */
  holds(approval: ApprovalRecord, plan: ToolPlan, step: StepRecord, { policyHash }: Admission): boolean {
    if (approval.toolHash !== plan.toolHash || approval.policyHash !== policyHash) return false;
    if (approval.inputHash !== hashJson(step.input)) return false;
    const known = approval.taintSources.length > 0;
    return known || !(this.isTainted && plan.isSink);
  }

  /** Returns the hash for which a step keeps that a person has approved it. */
  grantOf(plan: ToolPlan, input: unknown, { policyHash }: Admission): string {
    return hashJson([plan.toolHash, policyHash, hashJson(input), plan.isSink && this.isTainted]);
  }
}

const MINIMA: Readonly<Partial<Record<AgentApprovalMinimum, 'risky' | 'always'>>> = {
  [AgentApprovalMinimum.RISKY]: 'risky',
  [AgentApprovalMinimum.ALWAYS]: 'always',
};
