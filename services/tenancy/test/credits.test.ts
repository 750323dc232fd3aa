import type { Caller } from '@commonplace/kit/auth';
import type { AppError } from '@commonplace/kit/errors';
import { homeOf, newId } from '@commonplace/kit/id';
import type { Client } from '@commonplace/kit/rpc';
import { inWork, openCollections } from '@commonplace/kit/store';
import { createEvent, eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import {
  CapState,
  CheckCreditsRequest,
  type CreditService,
  CreditSource,
  CreditView,
  GetCreditsRequest,
  GetUsageRequest,
  LedgerEntryKind,
  type MeteringService,
  RecordUsageRequest,
  ReserveCreditsRequest,
  SettleUsageRequest,
  UpdateUsageSettingsRequest,
  UsageGranularity,
  UsageGroupBy,
} from '@commonplace/proto/tenancy/v1/credit_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { grantCredits } from '../src/credits/commands/grant.js';
import { CREDIT_RECORDS } from '../src/credits/records.js';
import { openWorld, page, type World, withKey, withTenant } from './world.js';

let world: World;
let credits: Client<CreditService>;
let agents: Client<MeteringService>;
let search: Client<MeteringService>;
beforeAll(async () => {
  world = await openWorld();
  credits = world.stage.host.client(contracts.credits);
  const metering = world.stage.host.client(contracts.metering);
  agents = metering;
  search = metering;
});
afterAll(() => world.close());

const balance = async (caller: Caller) =>
  credits.getCredits(GetCreditsRequest.fromPartial({ page: page() }), await world.as(caller));
const ledger = async (caller: Caller, fields: Partial<GetCreditsRequest> = {}) =>
  credits.getCredits(
    GetCreditsRequest.fromPartial({ view: CreditView.LEDGER, page: page(), ...fields } as GetCreditsRequest),
    await world.as(caller),
  );
const usage = async (caller: Caller, fields: Partial<GetUsageRequest> = {}) =>
  credits.getUsage(GetUsageRequest.fromPartial(fields), await world.as(caller));
const change = async (caller: Caller, fields: Partial<UpdateUsageSettingsRequest>) => {
  const updateMask = Object.keys(fields).map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const request = UpdateUsageSettingsRequest.fromPartial({ ...fields, updateMask });
  return credits.updateUsageSettings(request, await world.as(caller));
};

interface Work {
  readonly tenant: string;
  readonly userId: string;
  readonly run?: string;
  readonly step?: string;
  readonly workspaceId?: string;
  readonly model?: string;
  readonly apiKeyId?: string;
}

const keyOf = ({ run = 'run', step = '1' }: Pick<Work, 'run' | 'step'>) => ({
  ...{ source: CreditSource.AGENT_RUN, sourceId: run, step, attempt: 1 },
});
const attributionOf = ({ userId, workspaceId, model = 'large', apiKeyId }: Work) => ({
  ...{ feature: 'agent_run', model, userId, workspaceId, apiKeyId },
});

async function reserve(work: Work, amount: string, fields: Partial<ReserveCreditsRequest> = {}) {
  const request = { key: keyOf(work), tenant: work.tenant, amount, ttlMs: 60_000, attribution: attributionOf(work) };
  return agents.reserveCredits(ReserveCreditsRequest.fromPartial({ ...request, ...fields }), await world.system());
}

/** Returns why work that costs `amount` could not begin; undefined if it could. */
async function refusalOf(work: Work, amount: string): Promise<string | undefined> {
  const request = CheckCreditsRequest.fromPartial({ tenant: work.tenant, amount, attribution: attributionOf(work) });
  try {
    await agents.checkCredits(request, await world.system());
    return undefined;
  } catch (error) {
    const { reason, details } = error as AppError;
    return details?.cap === undefined ? reason : `${reason} ${details.cap}`;
  }
}

async function settle(work: Work, amount: string) {
  const request = { key: keyOf(work), inputTokens: 100, outputTokens: 20, credits: amount };
  return agents.settleUsage(SettleUsageRequest.fromPartial(request), await world.system());
}

async function record(work: Work, amount: string, tokens = 0) {
  const key = { source: CreditSource.SEARCH, sourceId: newId() };
  const request = { key, tenant: work.tenant, inputTokens: tokens, credits: amount, attribution: attributionOf(work) };
  return search.recordUsage(RecordUsageRequest.fromPartial(request), await world.system());
}

async function grant(payer: { tenant: string; orgId?: string; userId?: string }, amount: number, expiresAt?: string) {
  const { store } = world.host;
  const now = (afterMs = 0) => new Date(world.clock() + afterMs).toISOString();
  const parts = { ...(await openCollections(store, CREDIT_RECORDS)), metersAll: false, now };
  const terms = { kind: 'topup', amount: amount * 1e6, ...(expiresAt !== undefined && { expiresAt }) } as const;
  await inWork(store, (work) => grantCredits(parts, work, payer, terms));
}

/** Creates an Org with an admin and a member, each with the Org as their tenant. */
async function openOrg() {
  const owner = world.person('Olga');
  const { id } = await world.createOrg(owner);
  const { caller: admin } = await world.join(owner, id, OrgRole.ADMIN, 'Ada');
  const { caller: member } = await world.join(owner, id, OrgRole.MEMBER, 'Max');
  return { id, owner: withTenant(owner, id), admin: withTenant(admin, id), member: withTenant(member, id) };
}

const personal = (caller: Caller): Work => ({ tenant: homeOf(caller.userId), userId: caller.userId, run: newId() });

describe('a balance', () => {
  test('is unlimited by default, and counts usage', async () => {
    const ann = world.person('Ann');
    expect(await balance(ann)).toMatchObject({ available: undefined, used: '0', granted: '0', unit: 'credit' });
    await reserve(personal(ann), '5');
    const work = { ...personal(ann), step: '2' };
    await reserve(work, '5');
    await settle(work, '1.5000005');
    const shown = await balance(ann);
    expect(shown).toMatchObject({ available: undefined, used: '1.500001', overageUsed: '0' });
    const { items } = await ledger(ann);
    expect(items.map(({ kind, amount, balanceAfter }) => [kind, amount, balanceAfter])).toEqual([
      [LedgerEntryKind.CONSUME, '-1.500001', '-1.500001'],
    ]);
    expect(items[0]?.source).toEqual({ type: CreditSource.AGENT_RUN, id: work.run });
  });

  test('refuses a malformed cursor although it has no pages', async () => {
    const request = GetCreditsRequest.fromPartial({ page: page(1, 0, 'not-a-cursor') });
    await expect(credits.getCredits(request, await world.as(world.person()))).rejects.toMatchObject({
      reason: 'invalid_pagination',
    });
  });

  test('is limited from the first grant on; earlier usage does not count', async () => {
    const ann = world.person('Ann');
    await record(personal(ann), '7');
    await grant({ tenant: homeOf(ann.userId), userId: ann.userId }, 10);
    expect(await balance(ann)).toMatchObject({ available: '10', granted: '10', used: '7' });
    const work = personal(ann);
    await reserve(work, '4');
    expect(await balance(ann)).toMatchObject({ available: '6', reserved: '4' });
    await settle(work, '1');
    expect(await balance(ann)).toMatchObject({ available: '9', reserved: '0', used: '8' });
    const { items, page: shown } = await ledger(ann);
    expect(items.map(({ kind, amount, balanceAfter }) => [kind, amount, balanceAfter])).toEqual([
      [LedgerEntryKind.CONSUME, '-1', '9'],
      [LedgerEntryKind.RELEASE, '4', '10'],
      [LedgerEntryKind.RESERVE, '-4', '6'],
      [LedgerEntryKind.GRANT, '10', '10'],
      [LedgerEntryKind.ADJUSTMENT, '7', '0'],
      [LedgerEntryKind.CONSUME, '-7', '-7'],
    ]);
    expect(shown?.total).toBe(6);
  });

  test('refuses a reservation that it does not cover, and charges usage beyond a reservation as overage', async () => {
    const ann = world.person('Ann');
    await grant({ tenant: homeOf(ann.userId), userId: ann.userId }, 2);
    const work = personal(ann);
    await expect(reserve(work, '2.1')).rejects.toMatchObject({
      reason: 'insufficient_credits',
      details: { available: '2', needed: '2.1' },
    });
    await reserve(work, '1.5');
    expect(await settle(work, '3')).toEqual({ credits: '3', overage: '1', charged: true });
    expect(await settle(work, '3')).toEqual({ credits: '3', overage: '1', charged: false });
    expect(await balance(ann)).toMatchObject({ available: '0', used: '3', overageUsed: '1' });
    expect((await usage(ann)).capState).toBe(CapState.OVERAGE);
    const { items } = await ledger(ann);
    expect(items.map(({ balanceAfter }) => balanceAfter)).not.toContainEqual(expect.stringMatching(/^-/));
  });

  test('reports whether work could begin, also once reservations of others are released', async () => {
    const ann = world.person('Ann');
    const work = personal(ann);
    expect(await refusalOf(work, '1000')).toBeUndefined();
    await grant({ tenant: work.tenant, userId: ann.userId }, 10);
    expect([await refusalOf(work, '10'), await refusalOf(work, '10.000001')]).toEqual([
      undefined,
      'insufficient_credits',
    ]);
    await reserve(work, '8');
    expect(await refusalOf(work, '10')).toBeUndefined();
    await settle(work, '8');
    expect([await refusalOf(work, '2'), await refusalOf(work, '2.5')]).toEqual([undefined, 'insufficient_credits']);
    await change(ann, { overageEnabled: true });
    expect(await refusalOf(work, '2.5')).toBeUndefined();
    await change(ann, { monthlyCapCredits: 9 });
    expect([await refusalOf(work, '1'), await refusalOf(work, '1.5')]).toEqual([undefined, 'usage_cap_reached tenant']);
    await change(ann, { perMemberCapCredits: 8 });
    expect(await refusalOf(work, '1')).toBe('usage_cap_reached per_member');
    await change(ann, { hardStop: false });
    expect(await refusalOf(work, '1.5')).toBeUndefined();
    // The check reserved nothing.
    expect(await balance(ann)).toMatchObject({ available: '2', reserved: '0' });
  });

  test('allows work beyond it if overage is enabled, up to its cap', async () => {
    const ann = world.person('Ann');
    await grant({ tenant: homeOf(ann.userId), userId: ann.userId }, 1);
    await change(ann, { overageEnabled: true, overageCapCredits: 2 });
    const work = personal(ann);
    await reserve(work, '3');
    await expect(reserve({ ...work, step: '2' }, '0.1')).rejects.toMatchObject({ reason: 'usage_cap_reached' });
    await settle(work, '2.5');
    expect(await balance(ann)).toMatchObject({ available: '0', overageUsed: '1.5' });
    await reserve({ ...work, step: '3' }, '0.5');
  });

  test('spends what expires first, and loses what has expired', async () => {
    const ann = world.person('Ann');
    const payer = { tenant: homeOf(ann.userId), userId: ann.userId };
    await grant(payer, 5);
    await grant(payer, 3, new Date(world.clock() + 3600_000).toISOString());
    await record(personal(ann), '1');
    expect((await balance(ann)).grants.map(({ remaining }) => remaining)).toEqual(['2', '5']);
    world.wait(2 * 3600_000);
    await record(personal(ann), '1');
    expect(await balance(ann)).toMatchObject({ available: '4', granted: '5' });
    expect((await ledger(ann)).items.map(({ kind }) => kind)).toContain(LedgerEntryKind.EXPIRE);
  });
});

describe('caps', () => {
  test('are checked in order: run, member, tenant', async () => {
    const { id, admin, member } = await openOrg();
    await change(admin, { monthlyCapCredits: 10, perMemberCapCredits: 5, perRunCapCredits: 3 });
    const work = { tenant: id, userId: member.userId, run: newId() };
    const refused = (cap: string) => ({ reason: 'usage_cap_reached', details: expect.objectContaining({ cap }) });
    await expect(reserve(work, '2.5', { perRunCap: '2' })).rejects.toMatchObject(refused('per_run'));
    await reserve(work, '2');
    await settle(work, '1.5');
    await expect(reserve({ ...work, step: '2' }, '1.6')).rejects.toMatchObject(refused('per_run'));
    await reserve({ ...work, run: newId() }, '3');
    await expect(reserve({ ...work, run: newId() }, '1')).rejects.toMatchObject(refused('per_member'));
    const other = { ...work, userId: admin.userId };
    await reserve({ ...other, run: newId() }, '3');
    await reserve({ ...other, run: newId() }, '2');
    await expect(reserve({ ...work, userId: newId(), run: newId() }, '1')).rejects.toMatchObject(refused('tenant'));
    await change(admin, { hardStop: false });
    await reserve({ ...work, run: newId() }, '3');
    await expect(reserve({ ...work, step: '3' }, '1.1', { perRunCap: '2' })).rejects.toMatchObject(refused('per_run'));
  });

  test('of a run may be as large as a balance', async () => {
    const ann = world.person('Ann');
    await record(personal(ann), '1');
    await reserve({ ...personal(ann), run: newId() }, '1', { perRunCap: '999999999.999999' });
  });

  test('report how much of them is only reserved by other work, so that callers can wait', async () => {
    const { id, admin, member } = await openOrg();
    await change(admin, { monthlyCapCredits: 10, perMemberCapCredits: 5, perRunCapCredits: 4 });
    const work = { tenant: id, userId: member.userId };
    const [one, two] = [
      { ...work, run: newId() },
      { ...work, run: newId() },
    ];
    await record(work, '1');
    await reserve(one, '3');
    const details = (more: object) => ({ reason: 'usage_cap_reached', details: expect.objectContaining(more) });
    await expect(reserve(two, '2')).rejects.toMatchObject(
      details({ cap: 'per_member', limit: '5', taken: '4', reserved: '3', needed: '2' }),
    );
    // A run does not wait for its own reservations, and used credits never return.
    await expect(reserve({ ...one, step: '2' }, '2')).rejects.toMatchObject(details({ cap: 'per_run', reserved: '0' }));
    await record({ ...work, userId: admin.userId }, '4');
    await expect(reserve({ ...two, userId: admin.userId }, '3')).rejects.toMatchObject(
      details({ cap: 'per_member', taken: '4', reserved: '0' }),
    );
    // The member's cap would become free again, but the tenant's would not.
    await change(admin, { monthlyCapCredits: 6 });
    await expect(reserve(two, '2')).rejects.toMatchObject(details({ cap: 'per_member', reserved: '0' }));
    await settle(one, '0.5');
  });

  test('are announced to administrators once per threshold and month', async () => {
    const { id, owner, admin, member } = await openOrg();
    await change(admin, { monthlyCapCredits: 10 });
    const work = { tenant: id, userId: member.userId };
    for (const amount of ['4', '1', '1', '2.5', '1', '3']) await record(work, amount);
    const alerts = () => world.events.filter(({ type, tenant }) => type.endsWith('usage.alert') && tenant === id);
    await eventually(async () => expect(alerts().map(({ data }) => data.threshold)).toEqual([50, 80, 100]));
    expect(alerts()[0]?.data).toMatchObject({ about: 'monthly_cap', used: '5', limit: '10', orgId: id });
    expect(new Set(alerts()[0]?.data.notifyUserIds as string[])).toEqual(new Set([owner.userId, admin.userId]));
    expect((await usage(admin)).capState).toBe(CapState.REACHED);
  });

  test('low credits are a warning in the state', async () => {
    const ann = world.person('Ann');
    await grant({ tenant: homeOf(ann.userId), userId: ann.userId }, 10);
    const states: CapState[] = [];
    for (const amount of ['7.9', '0.1', '1.9', '0.1']) {
      await record(personal(ann), amount);
      states.push((await usage(ann)).capState);
    }
    expect(states).toEqual([CapState.OK, CapState.WARNING, CapState.WARNING, CapState.REACHED]);
  });

  test('low credits are announced once per threshold', async () => {
    const ann = world.person('Ann');
    const tenant = homeOf(ann.userId);
    await grant({ tenant, userId: ann.userId }, 10);
    for (const amount of ['4', '4.5', '1']) await record(personal(ann), amount);
    const alerts = () => world.events.filter(({ type, tenant: of }) => type.endsWith('credits.low') && of === tenant);
    await eventually(async () => expect(alerts()).toHaveLength(1));
    expect(alerts()[0]?.data).toMatchObject({
      threshold: 80,
      available: '1.5',
      notifyUserIds: [ann.userId],
      orgId: '',
    });
  });
});

describe('in an Org', () => {
  test('administrators see everything, members their own share, others nothing', async () => {
    const { id, admin, member } = await openOrg();
    await grant({ tenant: id, orgId: id }, 100);
    await record({ tenant: id, userId: member.userId }, '2');
    await record({ tenant: id, userId: admin.userId }, '5');
    expect(await balance(admin)).toMatchObject({ available: '93', used: '7', tenant: { orgId: id } });
    expect(await balance(member)).toMatchObject({ available: '93', used: '2', grants: [] });
    expect((await ledger(admin)).items).toHaveLength(3);
    expect((await ledger(member)).items.map(({ amount, balanceAfter }) => [amount, balanceAfter])).toEqual([
      ['-2', undefined],
    ]);
    expect((await usage(admin)).totals).toMatchObject({ credits: '7', requests: 2 });
    expect((await usage(member)).totals).toMatchObject({ credits: '2', requests: 1 });
    await expect(balance(withTenant(world.person(), id))).rejects.toMatchObject({ reason: 'not_found' });
    await expect(change(member, { hardStop: false })).rejects.toMatchObject({ reason: 'insufficient_role' });
  });

  test('a workspace id selects its Org, and a Personal one its owner', async () => {
    const { id, owner } = await openOrg();
    const { id: workspaceId } = await world.createWorkspace(owner, { orgId: id });
    await record({ tenant: workspaceId, userId: owner.userId, workspaceId }, '3');
    expect((await balance(owner)).used).toBe('3');
    const ann = world.person('Ann');
    const { id: home } = await world.createWorkspace(ann);
    const key = { source: CreditSource.EMBEDDING, sourceId: newId() };
    const request = { key, tenant: home, credits: '1', attribution: { feature: 'embedding' } };
    await search.recordUsage(RecordUsageRequest.fromPartial(request), await world.system());
    expect((await balance(ann)).used).toBe('1');
    await expect(record({ tenant: newId(), userId: ann.userId }, '1')).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('keys limited to workspaces see the usage in these, and no balance', async () => {
    const { id, owner } = await openOrg();
    const { id: workspaceId } = await world.createWorkspace(owner, { orgId: id });
    await record({ tenant: id, userId: owner.userId, workspaceId }, '3');
    await record({ tenant: id, userId: owner.userId }, '4');
    const key = withKey(owner, id, [workspaceId]);
    expect((await usage(key)).totals?.credits).toBe('3');
    await expect(balance(key)).rejects.toMatchObject({ reason: 'tenant_boundary' });
    await expect(change(key, { hardStop: false })).rejects.toMatchObject({ reason: 'tenant_boundary' });
  });
});

describe('usage', () => {
  test('is listed for every day of the range, by groups', async () => {
    const ann = world.person('Ann');
    const work = personal(ann);
    await record({ ...work, model: 'large' }, '2', 10);
    await record({ ...work, model: 'small' }, '0.5', 30);
    world.wait(24 * 3600_000);
    await record({ ...work, model: 'small' }, '0.25', 5);
    const day = (afterDays: number) => new Date(world.clock() + afterDays * 24 * 3600_000).toISOString();
    const shown = await usage(ann, { from: day(-2), to: day(1), groupBy: UsageGroupBy.MODEL });
    expect(shown.period).toEqual({
      start: `${day(-2).slice(0, 10)}T00:00:00.000Z`,
      end: `${day(2).slice(0, 10)}T00:00:00.000Z`,
    });
    expect(shown.series.map(({ credits: sum, groups }) => [sum, groups.length])).toEqual([
      ['0', 0],
      ['2.5', 2],
      ['0.25', 1],
      ['0', 0],
    ]);
    expect(shown.totals).toEqual({ inputTokens: 45, outputTokens: 0, credits: '2.75', requests: 3 });
    expect(shown.groups.map(({ key, credits: sum }) => [key, sum])).toEqual([
      ['large', '2'],
      ['small', '0.75'],
    ]);
    const hours = await usage(ann, { from: day(-1), to: day(0), granularity: UsageGranularity.HOUR });
    expect(hours.series).toHaveLength(25);
    expect(hours.totals).toMatchObject({ credits: '2.75' });
    const months = await usage(ann, { from: day(-300), to: day(1), granularity: UsageGranularity.MONTH });
    expect(String(months.series.at(-1)?.start)).toMatch(/-01T00:00:00.000Z$/);
    expect(months.totals).toEqual(shown.totals);
  });

  test('covers at most 400 days, and refuses a range that ends before it begins', async () => {
    const ann = world.person('Ann');
    const range = { from: '2026-01-01T00:00:00.000Z', to: '2027-03-01T00:00:00.000Z' };
    await expect(usage(ann, range)).rejects.toMatchObject({ reason: 'invalid_value', param: 'from' });
    await expect(usage(ann, { from: range.to, to: range.from })).rejects.toMatchObject({ param: 'to' });
    const last = { from: '9999-12-01T00:00:00.000Z', to: '9999-12-31T00:00:00.000Z' };
    await expect(usage(ann, last)).rejects.toMatchObject({ param: 'to' });
  });

  test('counts a finished import once, without a price', async () => {
    const ann = world.person('Ann');
    const { id: workspaceId } = await world.createWorkspace(ann);
    const data = { importId: newId(), workspaceId, userId: ann.userId, status: 'completed' };
    const event = { ...createEvent(data.importId, data, 'commonplace.files.import.finished'), tenant: workspaceId };
    await world.stage.host.bus.publish([event]);
    await world.stage.host.bus.publish([{ ...event, id: newId() }]);
    await record(personal(ann), '0');
    const imports = async () =>
      (await usage(ann, { groupBy: UsageGroupBy.FEATURE })).groups.find(({ key }) => key === 'import');
    await eventually(async () => expect(await imports()).toMatchObject({ requests: 1, credits: '0' }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await imports()).toMatchObject({ requests: 1 });
  });
});

describe('settings', () => {
  test('have defaults, keep fields that are not named, and clear a cap with null', async () => {
    const ann = world.person('Ann');
    const first = await change(ann, { monthlyCapCredits: 5, alertThresholds: [90, 10] });
    expect(first).toMatchObject({ monthlyCapCredits: 5, alertThresholds: [10, 90], hardStop: true, version: 1 });
    const second = await change(ann, { monthlyCapCredits: undefined, hardStop: false });
    expect(second).toMatchObject({ monthlyCapCredits: undefined, alertThresholds: [10, 90], hardStop: false });
    expect((await usage(ann)).settings).toEqual(second);
  });
});

test('purging an Org deletes its credits', async () => {
  const { id, owner, member } = await openOrg();
  await grant({ tenant: id, orgId: id }, 100, new Date(world.clock() + 1e9).toISOString());
  await reserve({ tenant: id, userId: member.userId, run: newId() }, '2');
  await change(owner, { hardStop: false });
  await record({ tenant: id, userId: member.userId }, '2');
  const { purgeCredits } = await import('../src/credits/jobs/purge.js');
  await purgeCredits(world.host.store, id);
  const records = await openCollections(world.host.store, CREDIT_RECORDS);
  for (const collection of [records.ledger, records.reservations, records.grantExpiries, records.usage]) {
    expect(await (collection as typeof records.ledger).count({ tenant: id })).toBe(0);
  }
  expect(await records.accounts.get(id)).toBeUndefined();
  expect(await records.usageSettings.get(id)).toBeUndefined();
});

test('a conflict of versions names who has changed the settings last', async () => {
  const ada = world.person('Ada');
  await change(ada, { hardStop: false });
  const request = UpdateUsageSettingsRequest.fromPartial({ hardStop: true, updateMask: ['hard_stop'] });
  const stale = credits.updateUsageSettings(request, await world.as(ada, { baseVersion: 9 }));
  await expect(stale).rejects.toMatchObject({ details: { current_version: 1, updated_by: { id: ada.userId } } });
});
