import { type Fault, invalidField } from '@commonplace/kit/errors';
import { specifiedName } from '@commonplace/platform/enums';
import { AgentTool } from '@commonplace/proto/agents/v1/agent.js';
import type { CreateAgentRequest, UpdateAgentRequest } from '@commonplace/proto/agents/v1/agent_service.js';
import { parseCredits } from '../domain/micros.js';
import { type AgentRecord, type ApprovalPolicy, DEFAULT_POLICY, type ToolGroup } from '../stores/agents.js';
import { readPolicy } from './policy.js';

/** The fields of an agent that requests set. */
export type AgentFields = Pick<
  AgentRecord,
  | 'name'
  | 'description'
  | 'instructions'
  | 'avatarFileId'
  | 'model'
  | 'temperature'
  | 'tools'
  | 'policy'
  | 'maxSteps'
  | 'maxMinutes'
  | 'maxMicros'
  | 'visibility'
  | 'memoryMode'
  | 'autoRun'
  | 'onUnknown'
  | 'status'
>;

type Request = Omit<CreateAgentRequest, 'orgId'> & Partial<Pick<UpdateAgentRequest, 'status'>>;

export const NEW_AGENT: AgentFields = {
  name: '',
  description: '',
  instructions: '',
  tools: ['search', 'read'],
  policy: DEFAULT_POLICY,
  visibility: 'private',
  memoryMode: 'off',
  autoRun: false,
  onUnknown: 'ask',
  status: 'active',
};

/** Returns the fields of a new agent. Absent fields have their defaults. */
export function readNewAgent(request: CreateAgentRequest, faults: Fault[]): AgentFields {
  return readFields(request, NEW_AGENT, () => true, faults);
}

/** Returns the fields after a change. The update mask names the changed fields, including those that are cleared. */
export function readChange(
  { updateMask, ...request }: UpdateAgentRequest,
  before: AgentFields,
  faults: Fault[],
): AgentFields {
  const paths = new Set(updateMask);
  const { name = before.name, autoRun = before.autoRun, description = '', instructions = '' } = request;
  const whole = { ...request, name, autoRun, description, instructions };
  return readFields(whole, before, (path) => paths.has(path), faults);
}

function readFields(request: Request, before: AgentFields, names: (path: string) => boolean, faults: Fault[]) {
  const { limits } = request;
  const pick = <T>(path: string, value: T, old: T): T => (names(path) ? value : old);
  const either = <T>(value: T | undefined, old: T): T => value ?? old;
  const fields: AgentFields = {
    name: request.name,
    description: pick('description', request.description, before.description),
    instructions: pick('instructions', request.instructions, before.instructions),
    avatarFileId: pick('avatar_file_id', request.avatarFileId, before.avatarFileId),
    model: pick('model', request.model || undefined, before.model),
    temperature: pick('temperature', request.temperature, before.temperature),
    tools: request.tools === undefined ? before.tools : toolsIn(request.tools.items),
    policy: policyIn(request, before.policy, names, faults),
    maxSteps: pick('limits.max_steps', limits?.maxSteps, before.maxSteps),
    maxMinutes: pick('limits.max_minutes', limits?.maxMinutes, before.maxMinutes),
    maxMicros: pick('limits.max_credits_per_run', microsIn(limits?.maxCreditsPerRun, faults), before.maxMicros),
    visibility: either(
      specifiedName<AgentFields['visibility']>(request.visibility, 'AGENT_VISIBILITY'),
      before.visibility,
    ),
    memoryMode: either(specifiedName<AgentFields['memoryMode']>(request.memoryMode, 'MEMORY_MODE'), before.memoryMode),
    autoRun: request.autoRun,
    onUnknown: either(specifiedName<AgentFields['onUnknown']>(request.onUnknown, 'ON_UNKNOWN'), before.onUnknown),
    status: either(specifiedName<AgentFields['status']>(request.status ?? '', 'AGENT_STATUS'), before.status),
  };
  return fields;
}

/**
 * Returns the groups without duplicates in the order of the contract, so that their order in a request does not matter.
 */
function toolsIn(items: readonly AgentTool[]): ToolGroup[] {
  return Object.values(AgentTool).flatMap((tool) =>
    items.includes(tool) ? (specifiedName<ToolGroup>(tool, 'AGENT_TOOL') ?? []) : [],
  );
}

function microsIn(text: string | undefined, faults: Fault[]): number | undefined {
  const micros = text === undefined ? undefined : parseCredits(text);
  if (text !== undefined && micros === undefined) {
    const message = 'must be a decimal below 1,000,000,000 with up to six places.';
    faults.push({ param: 'limits.max_credits_per_run', code: 'invalid_value', message });
  }
  return micros;
}

const POLICY_PATHS: Readonly<Record<keyof ApprovalPolicy, string>> = {
  mode: 'mode',
  rules: 'rules',
  approvers: 'approvers',
  timeoutSeconds: 'timeout_seconds',
  onTimeout: 'on_timeout',
  fourEyes: 'four_eyes',
};

function policyIn(
  { approvalPolicy }: Pick<Request, 'approvalPolicy'>,
  before: ApprovalPolicy,
  names: (path: string) => boolean,
  faults: Fault[],
): ApprovalPolicy {
  if (approvalPolicy === undefined) return before;
  const given = readPolicy(approvalPolicy, 'approval_policy', faults);
  const named = Object.entries(POLICY_PATHS).filter(([, path]) => names(`approval_policy.${path}`));
  const changed = named.map(([field]) => [field, given[field as keyof ApprovalPolicy]]);
  return { ...before, ...Object.fromEntries(changed) };
}

/** Throws if a request restores an earlier version and also sets a field that the version contains. */
export function requireRestoreAlone({ updateMask = [] }: UpdateAgentRequest): void {
  const beside = ['instructions', 'model', 'temperature', 'tools'].find((path) => updateMask.includes(path));
  if (beside !== undefined) throw invalidField(beside, 'ambiguous_target', 'does not go with restore_version.');
}
