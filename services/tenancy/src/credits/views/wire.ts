import { namesByValue, valuesByName } from '@commonplace/platform/enums';
import {
  CapState as CapStateMessage,
  CreditGrantKind,
  type CreditReservation,
  CreditSource,
  CreditTenantType,
  type GetCreditsResponse,
  LedgerEntry,
  LedgerEntryKind,
  type ReservationKey,
  ReservationState,
  type UsageAttribution,
  type UsageCharge,
  UsageSettings,
} from '@commonplace/proto/tenancy/v1/credit_service.js';
import type { Charge } from '../commands/charge.js';
import { formatAmount } from '../domain/amounts.js';
import type { EntryKind, Grant, GrantKind } from '../domain/book.js';
import type { CapState } from '../domain/caps.js';
import { fullTerms } from '../domain/settings.js';
import type { Attribution, Key, LedgerRecord, ReservationRecord, SourceType, UsageSettingsRecord } from '../records.js';

const SOURCES: Readonly<Record<SourceType, CreditSource>> = valuesByName(CreditSource);
const ENTRY_KINDS: Readonly<Record<EntryKind, LedgerEntryKind>> = valuesByName(LedgerEntryKind);
const GRANT_KINDS: Readonly<Record<GrantKind, CreditGrantKind>> = valuesByName(CreditGrantKind);
const CAP_STATES: Readonly<Record<CapState, CapStateMessage>> = valuesByName(CapStateMessage);
const STATES: Readonly<Record<ReservationRecord['state'], ReservationState>> = valuesByName(ReservationState);

const SOURCE_NAMES: Readonly<Partial<Record<CreditSource, SourceType>>> = namesByValue(CreditSource);

/** Returns the name of a source; undefined for one that is not given. */
export const sourceOf = (source: CreditSource): SourceType | undefined => SOURCE_NAMES[source];

export function toTenant(orgId: string | undefined): GetCreditsResponse['tenant'] {
  return { type: orgId === undefined ? CreditTenantType.PERSONAL : CreditTenantType.ORG, orgId };
}

export function toGrant({ id, kind, amount, remaining, effectiveAt, expiresAt }: Grant) {
  return {
    ...{ id, kind: GRANT_KINDS[kind], effectiveAt, expiresAt },
    ...{ amount: formatAmount(amount), remaining: formatAmount(remaining) },
  };
}

/**
 * Converts a ledger entry. With `isOwn` the result has no balance, because the reader is a member who sees only their
 * own share.
 */
export function toLedgerEntry(entry: LedgerRecord, isOwn: boolean): LedgerEntry {
  const { id, at, kind, amount, balanceAfter, grantId, sourceType, sourceId, description } = entry;
  return LedgerEntry.fromPartial({
    ...{ id, at, kind: ENTRY_KINDS[kind], amount: formatAmount(amount), grantId, description },
    balanceAfter: isOwn ? undefined : formatAmount(balanceAfter),
    source: sourceType && { type: SOURCES[sourceType], id: sourceId },
  });
}

export function toSettings(record: UsageSettingsRecord | undefined): UsageSettings {
  const { alertThresholds, ...terms } = fullTerms(record?.terms);
  return UsageSettings.fromPartial({
    ...terms,
    alertThresholds: [...alertThresholds],
    updatedAt: record?.updatedAt,
    version: record?.version ?? 0,
  });
}

export function toCapState(state: CapState): CapStateMessage {
  return CAP_STATES[state];
}

function toKey({ sourceType, sourceId, step, attempt }: Key): ReservationKey {
  return { source: SOURCES[sourceType], sourceId, step, attempt };
}

export function toReservation(record: ReservationRecord): CreditReservation {
  const { state, amount, expiresAt } = record;
  return { key: toKey(record), state: STATES[state], amount: formatAmount(amount), expiresAt };
}

export function toCharge({ credits, overage, charged }: Charge): UsageCharge {
  return { credits: formatAmount(credits), overage: formatAmount(overage), charged };
}

/** Reads an attribution; returns undefined if the request has none. */
export function readAttribution(given: UsageAttribution | undefined): Attribution | undefined {
  if (given === undefined || given.feature === '') return undefined;
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as Attribution;
}
