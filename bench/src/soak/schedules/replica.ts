// One of several processes of the automations service on one store, with doubles of the other services. With `SOAK_SEED` it
// creates the schedules first: a JSON object with `count` and `from`, the time of the first slot. It says `ready`.
import { randomBytes } from 'node:crypto';
import { automations } from '@commonplace/automations';
import { type Caller, createTokenSigner } from '@commonplace/kit/auth';
import { contracts } from '@commonplace/kit/contracts';
import { newRequestId } from '@commonplace/kit/id';
import type { Handlers, ServiceContract } from '@commonplace/kit/rpc';
import { type Host, type Implementation, run, type ServiceModule } from '@commonplace/kit/runtime';
import { ActionType, Trigger, TriggerType } from '@commonplace/proto/automations/v1/automation.js';
import { CreateAutomationRequest } from '@commonplace/proto/automations/v1/automation_service.js';
import { CreateScheduleRequest } from '@commonplace/proto/automations/v1/schedule_service.js';
import { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';

const AUTOMATIONS = 20;
/** Requests at the same time. */
const AT_ONCE = 8;

/** Implements a service with some handlers; a call of any other method fails. */
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
    getMemberships: async (request) => ({
      userId: request.userId,
      orgs: [OrgMembership.fromPartial({ orgId, role: OrgRole.MEMBER, name: 'Org' })],
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
    start: async (host) => {
      hosts.set(name, host);
      return { implementations: doubles.filter(({ contract }) => contract.owner === name) };
    },
  }),
);
await run([automations, ...others], process.env);
if (process.env.SOAK_SEED) await seed(JSON.parse(process.env.SOAK_SEED));
process.stdout.write('ready\n');

async function seed({ count, from }: { readonly count: number; readonly from: number }): Promise<void> {
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
    for (let i = next++; i < count; i = next++) {
      const request = CreateScheduleRequest.fromPartial({
        ...{ name: `Schedule ${i}`, automationId: targets[i % AUTOMATIONS], timezone: 'UTC' },
        runAt: new Date(from + (i * 60_000) / count).toISOString(),
      });
      await client.schedules.createSchedule(request, await options());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, create));
}
