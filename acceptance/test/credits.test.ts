import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Api } from '../src/client.js';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { importAll } from '../src/imports.js';
import { newAddress, newKey, type Person, signIn, signUp, tokenOf } from '../src/people.js';
import type { Fault, List, Member, Org, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

/** Tests credits of an installation without billing: nothing is limited, and everything is counted. */

interface Balance {
  readonly tenant: { readonly type: string; readonly org_id: string | null };
  readonly available: string | null;
  readonly used: string;
  readonly period: { readonly start: string; readonly end: string };
}

interface Sums {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly credits: string;
  readonly requests: number;
}

interface Usage {
  readonly period: { readonly start: string; readonly end: string };
  readonly totals: Sums;
  readonly series: readonly (Sums & {
    readonly start: string;
    readonly groups: readonly { readonly key: string | null }[];
  })[];
  readonly groups: readonly (Sums & { readonly key: string | null })[];
  readonly settings: Settings;
  readonly cap_state: string;
}

interface Settings {
  readonly monthly_cap_credits: number | null;
  readonly hard_stop: boolean;
  readonly alert_thresholds: readonly number[];
  readonly version: number;
}

let system: System;
let owner: Person;
let org: Org;
let person: Person;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  owner = await signIn(system, system.owner);
  org = (await owner.post<Org>('/orgs', { name: 'Credits' })).data;
  const email = newAddress('credits');
  const { data } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  person = await signUp(system, 'Member', { email, invitation: tokenOf(data.invite_url) });
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Credits', org_id: org.id })).data;
});

const inOrg = () => ({ headers: { 'x-tenant': org.id } });

describe('a balance', () => {
  test('of a Personal tenant is unlimited, in credits of the current month', async () => {
    const before = new Date().toISOString().slice(0, 7);
    const { status, data } = await person.get<Balance>('/credits');
    expect(status).toBe(200);
    const month = data.period.start.slice(0, 7);
    // A month may begin during the request.
    expect([before, new Date().toISOString().slice(0, 7)]).toContain(month);
    expect(data).toEqual({
      ...{ tenant: { type: 'personal', org_id: null }, available: null, granted: '0', used: '0', reserved: '0' },
      ...{ overage_used: '0', unit: 'credit', grants: [] },
      period: { start: `${month}-01T00:00:00.000Z`, end: expect.stringMatching(/-01T00:00:00\.000Z$/) },
    });
  });

  test('of an Org is shown with X-Tenant to its members only', async () => {
    const { data } = await person.get<Balance>('/credits', inOrg());
    expect(data).toMatchObject({ tenant: { type: 'org', org_id: org.id }, available: null, used: '0' });
    const stranger = await signUp(system, 'Stranger');
    expect((await stranger.get('/credits', inOrg())).status).toBe(404);
  });

  test('has a ledger with a page, which does not contain the balance', async () => {
    const reply = await person.get<List<unknown>>('/credits?view=ledger&limit=5');
    expect(reply.data).toEqual({ items: [] });
    expect(reply.page).toMatchObject({ limit: 5, total: 0, has_more: false });
    const { status, error } = await person.get<Fault>('/credits?view=sideways');
    expect([status, error?.code]).toEqual([400, 'invalid_value']);
  });

  test.each(['view=ledger&', ''])('takes no range that ends before it begins, as usage does (%s)', async (view) => {
    const range = 'from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z';
    for (const path of [`/credits?${view}${range}`, `/usage?${range}`]) {
      const { status, error } = await person.get<Fault>(path);
      expect([path, status, error?.code, error?.param]).toEqual([path, 400, 'invalid_value', 'to']);
    }
  });
});

describe('usage', () => {
  test('counts an import once it has finished, for its author and for the Org', async () => {
    await importAll(owner, workspace.id, { source_type: 'markdown', content: '# One' });
    const usage = async (by: Api, query = 'group_by=feature') => (await by.get<Usage>(`/usage?${query}`, inOrg())).data;
    await eventually(async () => expect((await usage(owner)).totals.requests).toBe(1));
    const shown = await usage(owner);
    expect(shown.groups).toEqual([{ key: 'import', input_tokens: 0, output_tokens: 0, credits: '0', requests: 1 }]);
    const days = new Date(Date.parse(shown.period.end) - Date.parse(shown.period.start)).getTime() / 86_400_000;
    expect(shown.series).toHaveLength(days);
    expect(shown.series.filter(({ groups }) => groups.length > 0)).toHaveLength(1);
    expect(shown.cap_state).toBe('ok');
    const groups = async (name: string) => (await usage(owner, `group_by=${name}`)).groups.map(({ key }) => key);
    expect(await groups('workspace')).toEqual([workspace.id]);
    expect(await groups('member')).toEqual([owner.user.id]);
    expect((await usage(person)).totals.requests).toBe(0);
    const hourly = await usage(owner, 'granularity=hour');
    expect(hourly.series).toHaveLength(days * 24);
    expect(hourly.totals.requests).toBe(1);
  });

  test.each([
    ['granularity=week', 'granularity'],
    ['group_by=colour', 'group_by'],
    ['from=yesterday', 'from'],
    ['from=2025-01-01T00:00:00Z&to=2026-06-01T00:00:00Z', 'from'],
    ['from=2026-06-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'to'],
  ])('refuses %s', async (query, param) => {
    const { status, error } = await person.get(`/usage?${query}`);
    expect([status, error?.code, error?.param]).toEqual([400, 'invalid_value', param]);
  });

  test('is shown to a key that is limited to workspaces for these only, without a balance', async () => {
    const { key } = await newKey(owner, ['usage:read', 'credit:read'], {
      org_id: org.id,
      workspace_ids: [workspace.id],
    });
    const limited = api(system, key);
    expect((await limited.get<Usage>('/usage')).data.totals.requests).toBe(1);
    expect((await limited.get('/credits')).error?.code).toBe('tenant_boundary');
  });
});

describe('settings', () => {
  test('are changed by administrators, field by field, and cleared with null', async () => {
    const change = (body: object, by: Api = owner, more: object = {}) =>
      by.patch<Settings>('/usage/settings', body, { headers: { ...inOrg().headers, ...more } });
    const first = await change({ monthly_cap_credits: 500, alert_thresholds: [90, 20] });
    expect(first.data).toMatchObject({
      ...{ monthly_cap_credits: 500, alert_thresholds: [20, 90], overage_enabled: false, hard_stop: true, version: 1 },
      ...{ overage_cap_credits: null, per_member_cap_credits: null, per_run_cap_credits: null },
    });
    const second = await change({ monthly_cap_credits: null, hard_stop: false });
    expect(second.data).toMatchObject({ monthly_cap_credits: null, alert_thresholds: [20, 90], hard_stop: false });
    expect((await owner.get<Usage>('/usage', inOrg())).data.settings).toEqual(second.data);
    expect((await change({ hard_stop: true }, owner, { 'if-match': '"v1"' })).error?.code).toBe('version_conflict');
    expect((await change({ hard_stop: true }, person)).error?.code).toBe('insufficient_role');
    expect((await person.patch<Settings>('/usage/settings', { per_run_cap_credits: 3 })).status).toBe(200);
  });

  test.each([
    [{}, 'no_update_field'],
    [{ monthly_cap_credits: -1 }, 'invalid_value'],
    [{ monthly_cap_credits: 1.5 }, 'invalid_value'],
    [{ alert_thresholds: [101] }, 'invalid_value'],
    [{ alert_thresholds: [5, 5] }, 'invalid_value'],
    [{ alert_thresholds: [1, 2, 3, 4, 5, 6] }, 'too_many_items'],
    [{ per_month: 3 }, 'unknown_field'],
  ])('refuse %j', async (body, code) => {
    const { status, error } = await owner.patch('/usage/settings', body, inOrg());
    expect([status, error?.code]).toEqual([400, code]);
  });
});
