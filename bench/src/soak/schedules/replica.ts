// Runs a process of the automations service with fakes of the other services. `SOAK_SEED` is the path of a JSON file
// with schedules, which the process creates first. Its clock is ahead by `SOAK_AHEAD_MS` milliseconds. It prints
// `ready`.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createAutomations } from '@commonplace/automations';
import { type Caller, createTokenSigner } from '@commonplace/kit/auth';
import { newRequestId } from '@commonplace/kit/id';
import type { Handlers, ServiceContract } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import { type Host, type Implementation, run, type ServiceModule } from '@commonplace/platform/runtime';
import { ActionType, Trigger, TriggerType } from '@commonplace/proto/automations/v1/automation.js';
import { CreateAutomationRequest } from '@commonplace/proto/automations/v1/automation_service.js';
import { CreateScheduleRequest } from '@commonplace/proto/automations/v1/schedule_service.js';
import { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';

const AUTOMATIONS = 20;
/** Number of concurrent requests. */
const AT_ONCE = 8;

/** Implements a service with some handlers. Calls of all other methods fail. */
function fake<S>(contract: ServiceContract<S>, handlers: Partial<Handlers<S>>): Implementation {
  const all: Record<string, unknown> = { ...handlers };
  for (const name of Object.keys(contract.definition)) {
    all[name] ??= async () => {
      throw new Error(`nobody plays ${contract.name}/${name}`);
    };
  }
  return { contract: contract as ServiceContract<unknown>, handlers: all };
}

const { userId, workspaceId, orgId } = JSON.parse(process.env.SOAK_IDS ?? '{}') as Record<string, string>;
const signer = createTokenSigner([randomBytes(32)]);
const membership = { workspaceId, orgId, role: WorkspaceRole.EDITOR };
const doubles: readonly Implementation[] = [
  fake(contracts.auth, { getTokenKeys: async () => ({ jwksJson: signer.jwks }) }),
  fake(contracts.directory, {
    getUrlAllowlist: async () => ({ entries: [] }),
    getMemberships: async (request) => ({
      userId: request.userId,
      orgs: [OrgMembership.fromPartial({ orgId, role: OrgRole.MEMBER, name: 'Org' })],
      groups: [],
      workspaces: [WorkspaceMembership.fromPartial(membership)],
    }),
  }),
];

const hosts = new Map<string, Host>();
const owners = new Set(Object.values(contracts).map(({ owner }) => owner));
owners.delete('automations');
const others = [...owners, 'gateway'].map(
  (name): ServiceModule => ({
    name,
    config: {},
    stores: false,
    calls: Object.values(contracts),
    start: async (host) => {
      hosts.set(name, host);
      return { implementations: doubles.filter(({ contract }) => contract.owner === name) };
    },
  }),
);
const aheadMs = Number(process.env.SOAK_AHEAD_MS ?? 0);
await run([createAutomations(() => Date.now() + aheadMs), ...others], process.env);
if (process.env.SOAK_SEED) await seed(JSON.parse(readFileSync(process.env.SOAK_SEED, 'utf8')));
// The interval keeps the process alive, because it serves nobody and its other timers do not.
setInterval(() => {}, 60_000);
process.stdout.write('ready\n');

async function seed(schedules: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
  const host = hosts.get('gateway') as Host;
  const client = { automations: host.client(contracts.automations), schedules: host.client(contracts.schedules) };
  const scopes = ['agent_schedule:write', 'automation:write'];
  const credential = { type: 'session', id: 'soak', scopes } as const;
  const caller: Caller = { userId: userId ?? '', userName: 'Ann', userEmail: '', credential };
  const options = async () => ({
    metadata: { requestId: newRequestId(), token: await signer.sign(caller) },
    deadline: Date.now() + 60_000,
    reply: {},
  });
  const targets: string[] = [];
  for (let i = 0; i < AUTOMATIONS; i++) {
    const request = CreateAutomationRequest.fromPartial({
      ...{ name: `Automation ${i}`, workspaceId, actions: [{ type: ActionType.STOP }] },
      trigger: Trigger.fromPartial({ type: TriggerType.SCHEDULE }),
    });
    targets.push((await client.automations.createAutomation(request, await options())).id);
  }
  let next = 0;
  const create = async () => {
    for (let i = next++; i < schedules.length; i = next++) {
      const request = CreateScheduleRequest.fromPartial({
        ...{ automationId: targets[i % AUTOMATIONS], timezone: 'UTC' },
        ...schedules[i],
      });
      await client.schedules.createSchedule(request, await options());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, create));
}
