import type { Fault } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import {
  ApprovalDecision,
  ApprovalMode,
  type ApprovalPolicyInput,
  OnTimeout,
  type ApprovalPolicy as PolicyMessage,
} from '@commonplace/proto/agents/v1/approval.js';
import { type ApprovalPolicy, type ApprovalRule, DEFAULT_POLICY } from '../stores/agents.js';
import { enumNamed, nameIn } from './enums.js';

/** Maximum number of people that a policy may name as approvers. */
const MAX_APPROVERS = 50;
const GROUPS = ['initiator', 'owner', 'workspace_admins'] as const;

/** Reads the policy of a request. Absent fields have their defaults. */
export function readPolicy(input: ApprovalPolicyInput, param: string, faults: Fault[]): ApprovalPolicy {
  const { mode, rules, timeoutSeconds, onTimeout, fourEyes } = input;
  return {
    mode: nameIn<ApprovalPolicy['mode']>(mode, 'APPROVAL_MODE_') ?? DEFAULT_POLICY.mode,
    rules: rules.map((rule, i): ApprovalRule => {
      const decision = nameIn<ApprovalRule['decision']>(rule.decision, 'APPROVAL_DECISION_');
      if (decision === undefined) {
        faults.push({ param: `${param}.rules[${i}].decision`, code: 'missing_field', message: 'is required.' });
      }
      const { tool, server, action, evenIfTainted } = rule;
      return { tool, server, action, decision: decision ?? 'ask', evenIfTainted };
    }),
    approvers: readApprovers(input.approvers, `${param}.approvers`, faults),
    timeoutSeconds: timeoutSeconds ?? DEFAULT_POLICY.timeoutSeconds,
    onTimeout: nameIn<ApprovalPolicy['onTimeout']>(onTimeout, 'ON_TIMEOUT_') ?? DEFAULT_POLICY.onTimeout,
    fourEyes,
  };
}

function readApprovers(bytes: Buffer, param: string, faults: Fault[]): ApprovalPolicy['approvers'] {
  if (bytes.length === 0) return DEFAULT_POLICY.approvers;
  const value: unknown = JSON.parse(bytes.toString());
  const [only] = Array.isArray(value) && value.length === 1 ? value : [value];
  const group = GROUPS.find((one) => one === only);
  if (group !== undefined) return group;
  const isIds =
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MAX_APPROVERS &&
    value.every((id) => typeof id === 'string' && isUuid(id));
  if (isIds) return [...new Set(value as string[])];
  const message = `must be one of ${GROUPS.join(', ')}, or a list of up to ${MAX_APPROVERS} ids of people.`;
  faults.push({ param, code: 'invalid_value', message });
  return DEFAULT_POLICY.approvers;
}

export function policyMessage(policy: ApprovalPolicy): PolicyMessage {
  const { mode, rules, approvers, timeoutSeconds, onTimeout, fourEyes } = policy;
  return {
    mode: enumNamed(ApprovalMode, mode),
    rules: rules.map(({ tool, server, action, decision, evenIfTainted }) => ({
      ...{ tool, server, action, evenIfTainted },
      decision: enumNamed(ApprovalDecision, decision),
    })),
    approvers: typeof approvers === 'string' ? [approvers] : [...approvers],
    timeoutSeconds,
    onTimeout: enumNamed(OnTimeout, onTimeout),
    fourEyes,
  };
}
