import type { Fault } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { enumValue, specifiedName } from '@commonplace/platform/enums';
import {
  ApprovalDecision,
  ApprovalMode,
  type ApprovalPolicyInput,
  OnTimeout,
  type ApprovalPolicy as PolicyMessage,
} from '@commonplace/proto/agents/v1/approval.js';
import { type ApprovalPolicy, type ApprovalRule, DEFAULT_POLICY } from '../stores/agents.js';

/** Maximum number of people that a policy may name as approvers. */
const MAX_APPROVERS = 50;
const GROUPS = ['initiator', 'owner', 'workspace_admins'] as const;

/** Reads the policy of a request. Absent fields have their defaults. */
export function readPolicy(input: ApprovalPolicyInput, param: string, faults: Fault[]): ApprovalPolicy {
  const { mode, rules, timeoutSeconds, onTimeout, fourEyes } = input;
  return {
    mode: specifiedName<ApprovalPolicy['mode']>(mode, 'APPROVAL_MODE') ?? DEFAULT_POLICY.mode,
    rules: rules.map((rule, i): ApprovalRule => {
      const decision = specifiedName<ApprovalRule['decision']>(rule.decision, 'APPROVAL_DECISION');
      if (decision === undefined) {
        faults.push({ param: `${param}.rules[${i}].decision`, code: 'missing_field', message: 'is required.' });
      }
      const { tool, server, action, evenIfTainted } = rule;
      return { tool, server, action, decision: decision ?? 'ask', evenIfTainted };
    }),
    approvers: readApprovers(input.approvers, `${param}.approvers`, faults),
    timeoutSeconds: timeoutSeconds ?? DEFAULT_POLICY.timeoutSeconds,
    onTimeout: specifiedName<ApprovalPolicy['onTimeout']>(onTimeout, 'ON_TIMEOUT') ?? DEFAULT_POLICY.onTimeout,
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
    mode: enumValue(ApprovalMode, mode),
    rules: rules.map(({ tool, server, action, decision, evenIfTainted }) => ({
      ...{ tool, server, action, evenIfTainted },
      decision: enumValue(ApprovalDecision, decision),
    })),
    approvers: typeof approvers === 'string' ? [approvers] : [...approvers],
    timeoutSeconds,
    onTimeout: enumValue(OnTimeout, onTimeout),
    fourEyes,
  };
}
