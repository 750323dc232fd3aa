import { namesByValue } from '@commonplace/platform/enums';
import { AgentApprovalMinimum } from '@commonplace/proto/tenancy/v1/org.js';
import {
  canBeRemembered,
  decideCall,
  hashPolicies,
  kindOf,
  type Policies,
  type Verdict,
} from '../../approvals/policy.js';
import { hashJson } from '../../domain/hash-json.js';
import type { ToolPlan } from '../../domain/tool-plan.js';
import type { AgentRecord } from '../../stores/agents.js';
import type { ApprovalRecord } from '../../stores/approvals.js';
import type { RunRecord, StepRecord } from '../../stores/runs.js';
import { requireUsableAgent } from '../run-agent.js';
import type { Tool } from '../tools/tool.js';
import type { RunScope } from './scope.js';

/** Thrown if a call is refused for good; with `endsRun` the run ends. */
export class CallDenied extends Error {
  constructor(
    readonly code: 'agent_paused' | 'approval_denied' | 'permission_lost',
    message: string,
    readonly endsRun = false,
  ) {
    super(message);
  }
}

/** The result of checking a call. */
export interface Admission extends Verdict {
  readonly policies: Policies;
  readonly policyHash: string;
  readonly agent: AgentRecord | undefined;
}

/**
 * Decides whether a call may be made. It decides outside of the model, from the plan of the call and the current agent,
 * policies and settings.
 */
export class Gate {
  constructor(private readonly scope: Pick<RunScope, 'parts' | 'job'>) {}

  private get run(): RunRecord {
    return this.scope.job.record;
  }

  /**
   * Returns the current record of the run's agent; undefined for the built-in assistant. Throws if the agent may not
   * act.
   */
  async agent(): Promise<AgentRecord | undefined> {
    const { agentId } = this.run;
    if (agentId === undefined) return undefined;
    const agent = await this.scope.parts.agents.get(agentId);
    if (agent?.status === 'paused') throw new CallDenied('agent_paused', 'The agent is paused.', true);
    await requireUsableAgent(this.scope.parts, this.run);
    return agent;
  }

  /** Decides about a call by the current agent, policies and taints of the run. Throws `CallDenied`. */
  async admit(tool: Tool, plan: ToolPlan): Promise<Admission> {
    const agent = await this.agent();
    if (agent !== undefined && tool.group !== undefined && !agent.tools.some((group) => group === tool.group)) {
      throw new CallDenied('permission_lost', `The agent no longer has the tool ${tool.schema.name}.`);
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

  /**
   * Returns whether a person has allowed this tool for the rest of the run. Calls that need an approval because of a
   * taint are never remembered.
   */
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
      minimum: minimum === undefined ? undefined : POLICY_MINIMUMS[minimum],
    };
  }

  /**
   * Returns whether an approval is still valid for a call: tool, input and policies must be unchanged, and if the call
   * needs an approval because of a taint, the approver must have known of it.
   */
  holds(approval: ApprovalRecord, plan: ToolPlan, step: StepRecord, { policyHash }: Admission): boolean {
    if (approval.toolHash !== plan.toolHash || approval.policyHash !== policyHash) return false;
    if (approval.inputHash !== hashJson(step.input)) return false;
    const known = approval.taintSources.length > 0;
    return known || !(this.isTainted && plan.isSink);
  }

  /** Returns the hash under which a step records that a person has approved it. */
  grantOf(plan: ToolPlan, input: unknown, { policyHash }: Admission): string {
    return hashJson([plan.toolHash, policyHash, hashJson(input), plan.isSink && this.isTainted]);
  }
}

const POLICY_MINIMUMS: Readonly<Partial<Record<AgentApprovalMinimum, 'risky' | 'always'>>> =
  namesByValue(AgentApprovalMinimum);
