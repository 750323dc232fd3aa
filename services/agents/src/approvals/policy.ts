import { hashJson } from '../domain/hash-json.js';
import type { ToolPlan } from '../domain/tool-plan.js';
import { type ApprovalPolicy, type ApprovalRule, DEFAULT_POLICY } from '../stores/agents.js';
import type { ApprovalKind, ApprovalTerms } from '../stores/approvals.js';

export type Decision = 'allow' | 'ask' | 'deny';

/** All policies that apply to a call. */
export interface Policies {
  /** The current policy of the agent; absent for the built-in assistant. */
  readonly current?: ApprovalPolicy | undefined;
  /** The policy of the agent when the run began. */
  readonly pinned?: ApprovalPolicy | undefined;
  /** The policy that the request has set for the run. */
  readonly request?: ApprovalPolicy | undefined;
  /** The minimum that the Org requires of all agents. */
  readonly minimum?: 'risky' | 'always' | undefined;
}

/** The decision about a call. */
export interface Verdict {
  readonly decision: Decision;
  /** Whether the call would be allowed if the run had not read untrusted content. */
  readonly isForcedByTaint: boolean;
}

const STRICTNESS: Readonly<Record<Decision, number>> = { allow: 0, ask: 1, deny: 2 };

function strictest(decisions: readonly Decision[]): Decision {
  return decisions.reduce((a, b) => (STRICTNESS[b] > STRICTNESS[a] ? b : a), 'allow');
}

/**
 * Decides about a call from its plan alone. The strictest of all policies applies. After the run has read untrusted
 * content, calls that send data or change rights need an approval, unless a rule of the agent's owner allows them
 * `evenIfTainted`.
 */
export function decideCall(tool: string, plan: ToolPlan, policies: Policies, isTainted: boolean): Verdict {
  const own = ownPolicies(policies);
  const decision = strictest([
    ...own.map((policy) => decideBy(policy, tool, plan)),
    policies.request === undefined ? 'allow' : decideBy(policies.request, tool, plan),
    policies.minimum === undefined ? 'allow' : decideByMode(policies.minimum, plan),
    plan.ownRule ?? 'allow',
  ]);
  const isForcedByTaint =
    decision === 'allow' && isTainted && plan.isSink && !own.every((policy) => liftsTaint(policy, tool, plan));
  return { decision: isForcedByTaint ? 'ask' : decision, isForcedByTaint };
}

function ownPolicies({ current, pinned }: Policies): ApprovalPolicy[] {
  const own = [current, pinned].filter((policy) => policy !== undefined);
  return own.length === 0 ? [DEFAULT_POLICY] : own;
}

function decideBy(policy: ApprovalPolicy, tool: string, plan: ToolPlan): Decision {
  if (policy.mode !== 'custom') return decideByMode(policy.mode, plan);
  return ruleFor(policy, tool, plan)?.decision ?? decideByMode('risky', plan);
}

const RISKY: ReadonlySet<ToolPlan['action']> = new Set(['delete', 'share', 'publish', 'send', 'spend']);

function decideByMode(mode: 'never' | 'risky' | 'always', plan: ToolPlan): Decision {
  switch (mode) {
    case 'never':
      return 'allow';
    case 'risky':
      return RISKY.has(plan.action) || isForeign(plan) ? 'ask' : 'allow';
    case 'always':
      return plan.action !== 'read' || isForeign(plan) ? 'ask' : 'allow';
  }
}

/** Returns whether a call goes to an MCP server and the owner has not marked the tool as reading only. */
const isForeign = ({ serverId, effect }: ToolPlan): boolean => serverId !== undefined && effect !== 'none';

/** Returns the first rule whose conditions all match a call. */
function ruleFor({ rules }: ApprovalPolicy, tool: string, plan: ToolPlan): ApprovalRule | undefined {
  return rules.find(
    (rule) =>
      (rule.tool === undefined || rule.tool === tool) &&
      (rule.server === undefined || (plan.serverId !== undefined && rule.server === plan.serverName)) &&
      (rule.action === undefined || rule.action === plan.action),
  );
}

function liftsTaint(policy: ApprovalPolicy, tool: string, plan: ToolPlan): boolean {
  if (policy.mode !== 'custom') return false;
  const rule = ruleFor(policy, tool, plan);
  return rule?.decision === 'allow' && rule.evenIfTainted;
}

/** Returns who decides an approval and how long they may take. If policies differ, the strictest value applies. */
export function termsOf(policies: Policies): ApprovalTerms {
  const { current = policies.pinned ?? DEFAULT_POLICY, request } = policies;
  const all = [...ownPolicies(policies), ...(request === undefined ? [] : [request])];
  return {
    approvers: current.approvers,
    ...(request !== undefined && { alsoAmong: request.approvers }),
    fourEyes: all.some(({ fourEyes }) => fourEyes),
    timeoutSeconds: Math.min(...all.map(({ timeoutSeconds }) => timeoutSeconds)),
    onTimeout: all.some(({ onTimeout }) => onTimeout === 'fail_run') ? 'fail_run' : 'deny',
  };
}

/**
 * Returns a hash of everything that an approval depends on. An approval is valid only as long as the hash is the same.
 */
export function hashPolicies(policies: Policies): string {
  const { minimum = '', request } = policies;
  const relevant = [...ownPolicies(policies), request].map(
    (policy) => policy && [policy.mode, policy.rules, policy.approvers, policy.fourEyes],
  );
  return hashJson([minimum, relevant]);
}

const KINDS: ReadonlySet<string> = new Set(['publish', 'share', 'delete', 'spend']);

export function kindOf({ action }: Pick<ToolPlan, 'action'>): ApprovalKind {
  return KINDS.has(action) ? (action as ApprovalKind) : 'tool_call';
}

/** Returns whether a decision about an approval may apply to the rest of its run. */
export function canBeRemembered({ kind, risk }: { readonly kind: ApprovalKind; readonly risk: string }): boolean {
  return kind === 'tool_call' && risk !== 'high';
}
