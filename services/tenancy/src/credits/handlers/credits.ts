import { type Caller, credentialOutOfScope } from '@commonplace/kit/auth';
import { invalidField } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { findPage, replaceChanged, requireCursor, type Where } from '@commonplace/kit/store';
import { namesByValue } from '@commonplace/platform/enums';
import {
  type CreditService,
  CreditView,
  GetCreditsResponse,
  type GetUsageRequest,
  type UpdateUsageSettingsRequest,
  UsageGranularity,
  UsageGroupBy,
} from '@commonplace/proto/tenancy/v1/credit_service.js';
import { maskOf, mergeSettings } from '../../domain/mask.js';
import { requireOrgRole } from '../../policy.js';
import { capStateOf } from '../domain/caps.js';
import { type Granularity, monthOf, type Period, periodOf, widen } from '../domain/periods.js';
import { fullTerms, type UsageTerms } from '../domain/settings.js';
import type { CreditParts } from '../parts.js';
import type { LedgerRecord } from '../records.js';
import { readAccount, readBalance } from '../views/balance.js';
import { findCreditAccess } from '../views/credit-access.js';
import { type Dimension, sumUsage } from '../views/usage.js';
import { toCapState, toLedgerEntry, toSettings } from '../views/wire.js';

export function createCreditHandlers(parts: CreditParts): Handlers<CreditService> {
  const { ledger, usageSettings } = parts;
  return {
    async getCredits({ view, from, to, page: pageRequest }, { caller }) {
      refuseLimited(caller);
      if (from !== undefined && to !== undefined) requireRange(from, to);
      const access = await findCreditAccess(parts, caller);
      if (view !== CreditView.LEDGER) {
        requireCursor(pageRequest);
        return readBalance(parts, access);
      }
      const { tenant, onlyUserId } = access;
      const where: Where<LedgerRecord> = {
        tenant,
        ...(onlyUserId !== undefined && { userId: onlyUserId }),
        ...((from ?? to) !== undefined && { at: { ...(from && { gte: from }), ...(to && { lt: to }) } }),
      };
      const { items, page } = await findPage(ledger, where, ['-seq'], pageRequest);
      return GetCreditsResponse.fromPartial({
        items: items.map((entry) => toLedgerEntry(entry, onlyUserId !== undefined)),
        page,
      });
    },

    async getUsage(request, { caller }) {
      const granularity = GRANULARITIES[request.granularity] ?? 'day';
      const period = widen(readRange(request, parts.now()), granularity);
      const access = await findCreditAccess(parts, caller);
      const { tenant, onlyUserId: userId } = access;
      const groupBy = DIMENSIONS[request.groupBy];
      const selection = { tenant, period, granularity, groupBy, userId, workspaceIds: workspacesOf(caller) };
      const [sums, settings, account] = await Promise.all([
        sumUsage(parts.usage, selection),
        usageSettings.get(tenant),
        readAccount(parts, tenant),
      ]);
      return {
        ...{ period, ...sums, settings: toSettings(settings) },
        capState: toCapState(capStateOf(account, fullTerms(settings?.terms))),
      };
    },

    async updateUsageSettings(request, context) {
      refuseLimited(context.caller);
      const { tenant, inOrg } = await findCreditAccess(parts, context.caller);
      if (inOrg !== undefined) requireOrgRole(inOrg, 'admin');
      const before = await context.work.get(usageSettings, tenant);
      requireVersion(context, before?.version ?? 0, before);
      const terms = changeTerms(before?.terms ?? {}, request);
      const after = { id: tenant, tenant, terms, updatedBy: context.actor, updatedAt: parts.now() };
      const { work } = context;
      return toSettings(
        before === undefined ? work.insert(usageSettings, after) : replaceChanged(work, usageSettings, before, after),
      );
    },
  };
}

const GRANULARITIES: { readonly [G in UsageGranularity]?: Granularity } = namesByValue(UsageGranularity);
const DIMENSIONS: { readonly [G in UsageGroupBy]?: Dimension } = {
  [UsageGroupBy.FEATURE]: 'feature',
  [UsageGroupBy.MODEL]: 'model',
  [UsageGroupBy.AGENT]: 'agentId',
  [UsageGroupBy.WORKSPACE]: 'workspaceId',
  [UsageGroupBy.MEMBER]: 'userId',
  [UsageGroupBy.API_KEY]: 'apiKeyId',
};
const MAX_DAYS = 400;
/** The latest end of a range: extended to whole months, it stays within the years that times can have. */
const LATEST_END = '9999-12-01T00:00:00.000Z';
const DAY_MS = 24 * 3600 * 1000;

/** Returns the requested range; a missing end defaults to that of the present month. */
function readRange({ from, to }: GetUsageRequest, now: string): Period {
  const month = periodOf(monthOf(now));
  const start = from ?? (to !== undefined && to <= month.start ? periodOf(monthOf(to)).start : month.start);
  const end = to ?? month.end;
  if (end > LATEST_END) throw invalidField('to', 'invalid_value', `must be ${LATEST_END} or earlier.`);
  requireRange(start, end);
  if (Date.parse(end) - Date.parse(start) > MAX_DAYS * DAY_MS) {
    throw invalidField('from', 'invalid_value', `must be at most ${MAX_DAYS} days before the end, ${end}.`);
  }
  return { start, end };
}

function requireRange(start: string, end: string): void {
  if (start >= end) throw invalidField('to', 'invalid_value', `must be after the beginning, ${start}.`);
}

function changeTerms(terms: Partial<UsageTerms>, request: UpdateUsageSettingsRequest): Partial<UsageTerms> {
  const { updateMask, alertThresholds, ...given } = request;
  const names = maskOf((updateMask ?? []).map((path) => `settings.${path}`)).settings;
  return mergeSettings(
    terms,
    { ...given, alertThresholds: [...alertThresholds].sort((a, b) => a - b) } as Partial<UsageTerms>,
    names,
  );
}

/** Throws for a credential that is limited to workspaces, because the data belongs to the tenant as a whole. */
function refuseLimited(caller: CallContext['caller']): void {
  if (workspacesOf(caller) !== undefined) throw credentialOutOfScope(caller);
}

/** Returns the only workspaces that a credential reaches; undefined if it is not limited to any. */
function workspacesOf({ workspaceId, credential: { workspaceIds } }: Caller): readonly string[] | undefined {
  if (workspaceId === undefined) return workspaceIds;
  return workspaceIds === undefined || workspaceIds.includes(workspaceId) ? [workspaceId] : [];
}
