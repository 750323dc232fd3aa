import { createLocalChannel } from '@commonplace/adapters/local';
import { createPeerTokens } from '@commonplace/kit/auth';
import { homeOf, newId } from '@commonplace/kit/id';
import { silentLog } from '@commonplace/kit/log';
import { type Client, serveMethods } from '@commonplace/kit/rpc';
import { inWork, keyset, openCollections, type Scalar, type Store } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import {
  CreditSource,
  type MeteringService,
  RecordUsageRequest,
  type ReservationKey,
  ReserveCreditsRequest,
  SettleUsageRequest,
} from '@commonplace/proto/tenancy/v1/credit_service.js';
import { grantCredits } from '../src/credits/commands/grant.js';
import { availableOf, type GrantKind } from '../src/credits/domain/book.js';
import { createMeteringHandlers } from '../src/credits/handlers/metering.js';
import { openCreditQueues } from '../src/credits/jobs/index.js';
import type { CreditParts } from '../src/credits/parts.js';
import { CREDIT_RECORDS, type LedgerRecord } from '../src/credits/records.js';
import { createOrgMembers, orgMemberCollection } from '../src/stores/org-members.js';
import { createOrgs, orgCollection } from '../src/stores/orgs.js';
import { createWorkspaceMembers, workspaceMemberCollection } from '../src/stores/workspace-members.js';
import { createWorkspaces, workspaceCollection } from '../src/stores/workspaces.js';

/** One process that meters, on a store that others may use as well. */
export interface Replica {
  readonly parts: CreditParts;
  readonly queues: Awaited<ReturnType<typeof openCreditQueues>>;
  reserve(step: number, amount: string, ttlMs?: number): ReturnType<Client<MeteringService>['reserveCredits']>;
  settle(step: number, credits: string): ReturnType<Client<MeteringService>['settleUsage']>;
  release(step: number): ReturnType<Client<MeteringService>['releaseReservation']>;
  renew(steps: readonly number[], ttlMs: number): ReturnType<Client<MeteringService>['renewReservations']>;
  record(step: number, credits: string): ReturnType<Client<MeteringService>['recordUsage']>;
  grant(micros: number, kind?: GrantKind, expiresAt?: string): Promise<void>;
}

/** A person whose Personal tenant pays. */
export interface Person {
  readonly userId: string;
  readonly tenant: string;
  readonly runId: string;
}

export function newPerson(): Person {
  const userId = newId();
  return { userId, tenant: homeOf(userId), runId: newId() };
}

export interface Clock {
  ms: number;
}

/** Runs metering for one person as a separate process would, with retries after lost races. */
export async function openReplica(store: Store, clock: Clock, person: Person, metersAll = false): Promise<Replica> {
  const parts: CreditParts = {
    ...(await openCollections(store, CREDIT_RECORDS)),
    ...{ store, log: silentLog, metersAll, policy: {} as never },
    orgs: createOrgs(await store.collection(orgCollection)),
    orgMembers: createOrgMembers(await store.collection(orgMemberCollection)),
    workspaces: createWorkspaces(await store.collection(workspaceCollection)),
    workspaceMembers: createWorkspaceMembers(await store.collection(workspaceMemberCollection)),
    now: (afterMs = 0) => new Date(clock.ms + afterMs).toISOString(),
  };
  const peers = createPeerTokens(Buffer.alloc(32, 1), 'agents');
  const served = await serveMethods(contracts.metering, createMeteringHandlers(parts), {
    ...{ service: 'tenancy', store, log: silentLog, peers: createPeerTokens(Buffer.alloc(32, 1), 'tenancy') },
    verifyCaller: async () => {
      throw new Error('nobody comes with a token');
    },
  });
  const client = createLocalChannel(served, peers).client(contracts.metering);
  const recorder = createLocalChannel(served, createPeerTokens(Buffer.alloc(32, 1), 'search')).client(
    contracts.metering,
  );
  const call = () => ({ metadata: { requestId: 'req_test' }, deadline: Date.now() + 60_000 });
  const attribution = { feature: 'agent_run', model: 'm', userId: person.userId };
  const keyOf = (step: number): ReservationKey => ({
    ...{ source: CreditSource.AGENT_RUN, sourceId: person.runId, step: String(step), attempt: 1 },
  });
  return {
    parts,
    queues: await openCreditQueues(parts),
    reserve: (step, amount, ttlMs = 60_000) =>
      client.reserveCredits(
        ReserveCreditsRequest.fromPartial({ key: keyOf(step), tenant: person.tenant, amount, ttlMs, attribution }),
        call(),
      ),
    settle: (step, credits) =>
      client.settleUsage(SettleUsageRequest.fromPartial({ key: keyOf(step), inputTokens: 3, credits }), call()),
    release: (step) => client.releaseReservation({ key: keyOf(step) }, call()),
    renew: (steps, ttlMs) => client.renewReservations({ keys: steps.map(keyOf), ttlMs }, call()),
    record: (step, credits) =>
      recorder.recordUsage(
        RecordUsageRequest.fromPartial({
          ...{ key: keyOf(step), tenant: person.tenant, inputTokens: 1, credits, attribution },
        }),
        call(),
      ),
    async grant(amount, kind = 'topup', expiresAt) {
      const { tenant, userId } = person;
      const terms = { kind, amount, ...(expiresAt !== undefined && { expiresAt }) };
      await inWork(store, (work) => grantCredits(parts, work, { tenant, userId }, terms));
    },
  };
}

/** Amounts in the records of a tenant, in millionths of a credit. */
export interface Figures {
  readonly available: bigint;
  readonly reserved: bigint;
  readonly used: bigint;
  readonly overage: bigint;
}

/** Reads a tenant's figures, and throws if they contradict its ledger, reservations or usage. */
export async function readFigures(parts: CreditParts, { tenant }: Person): Promise<Figures> {
  const account = await parts.accounts.get(tenant);
  if (account === undefined) return { available: 0n, reserved: 0n, used: 0n, overage: 0n };
  const entries = await readLedger(parts, tenant);
  const sum = (kinds: readonly string[]) =>
    entries.filter(({ kind }) => kinds.includes(kind)).reduce((total, { amount }) => total + BigInt(amount), 0n);
  const everything = entries.reduce((total, { amount }) => total + BigInt(amount), 0n);
  const open = { tenant, state: 'open' } as const;
  const usage = (interval: 'hour' | 'day') => parts.usage.sum('credits', { tenant, interval });
  const expected = {
    seqs: entries.map((_, at) => at + 1),
    ledger: BigInt(account.balance),
    last: entries.at(-1)?.balanceAfter ?? 0,
    reserved: account.reserved,
    held: account.held,
    hours: -sum(['consume']),
    days: -sum(['consume']),
    available: account.metered ? account.balance : availableOf(account),
  };
  const found = {
    seqs: entries.map(({ seq }) => seq),
    ledger: everything,
    last: account.balance,
    reserved: await parts.reservations.sum('fromGrants', open),
    held: await parts.reservations.sum('amount', open),
    hours: BigInt(await usage('hour')),
    days: BigInt(await usage('day')),
    available: availableOf(account),
  };
  requireEqual(found, expected);
  if (account.metered && availableOf(account) < 0) throw new Error(`available is ${availableOf(account)}`);
  const negative = entries.find(({ balanceAfter }) => parts.metersAll && balanceAfter < 0);
  if (negative !== undefined) throw new Error(`entry ${negative.seq} takes the balance below zero`);
  return {
    available: BigInt(availableOf(account)),
    reserved: BigInt(account.reserved),
    used: BigInt(account.used),
    overage: BigInt(account.overage),
  };
}

function requireEqual(found: Record<string, unknown>, expected: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(expected)) {
    const [a, b] = [textOf(found[name]), textOf(value)];
    if (a !== b) throw new Error(`${name}: ${a} is found, ${b} is expected`);
  }
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join() : String(value);
}

async function readLedger({ ledger }: CreditParts, tenant: string): Promise<LedgerRecord[]> {
  const all: LedgerRecord[] = [];
  for (let after: readonly Scalar[] | undefined; ; ) {
    const chunk = await ledger.find({ where: { tenant }, sort: ['seq'], limit: 500, ...(after && { after }) });
    all.push(...chunk);
    const last = chunk.at(-1);
    if (last === undefined || chunk.length < 500) return all;
    after = keyset(last, ['seq']);
  }
}
