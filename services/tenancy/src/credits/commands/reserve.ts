import type { UnitOfWork } from '@commonplace/kit/store';
import { formatAmount, type Micros, ofCredits } from '../domain/amounts.js';
import { type AccountState, availableOf, Book, emptyAccount, type ReservedParts } from '../domain/book.js';
import { allowsOverage, type Cap, findReached } from '../domain/caps.js';
import { monthOf, periodOf } from '../domain/periods.js';
import { fullTerms, type UsageTerms } from '../domain/settings.js';
import { InsufficientCredits, UsageCapReached } from '../errors.js';
import type { CreditParts } from '../parts.js';
import { type Attribution, type Key, keyId, type Payer, type ReservationRecord } from '../records.js';
import { openAccount } from './account.js';
import { findPayer } from './payer.js';

interface Reservation {
  readonly key: Key;
  readonly tenant: string;
  readonly amount: Micros;
  readonly ttlMs: number;
  readonly attribution: Attribution;
  readonly perRunCap?: Micros | undefined;
}

const RETENTION_MS = 90 * 24 * 3600 * 1000;
const NOTHING_RESERVED: ReservedParts = { amount: 0, fromGrants: 0, beyond: 0 };

/** Reserves an amount under a key. Returns the existing reservation unchanged if the key has one. */
export async function reserveCredits(
  parts: CreditParts,
  work: UnitOfWork,
  request: Reservation,
): Promise<ReservationRecord> {
  const { key, tenant, amount, ttlMs, attribution } = request;
  const existing = await work.get(parts.reservations, keyId(key));
  if (existing !== undefined) return existing;
  const payer = await findPayer(parts, tenant, attribution.userId, 'begin');
  const held = amount === 0 ? NOTHING_RESERVED : await holdAmount(parts, work, payer, request);
  const expiresAt = parts.now(ttlMs);
  return work.insert(parts.reservations, {
    ...newReservation(parts, payer, key, attribution),
    ...held,
    taken: amount,
    expiresAt,
    dueAt: expiresAt,
  });
}

/** Returns the record of a key without any credits. */
export function newReservation(
  { now }: CreditParts,
  { tenant, orgId }: Payer,
  key: Key,
  attribution: Attribution,
): Omit<ReservationRecord, 'version'> {
  const { userId } = attribution;
  return {
    ...{ id: keyId(key), tenant, ...key, attribution },
    ...(orgId !== undefined && { orgId }),
    ...(userId !== undefined && { userId }),
    ...{ sourceKey: sourceKeyOf(key), state: 'open', ...NOTHING_RESERVED, taken: 0, overage: 0 },
    ...{ expiresAt: now(), keepUntil: now(RETENTION_MS) },
  };
}

/** Throws if a new source could not reserve `amount` even after all other reservations have ended. Writes nothing. */
export async function checkCredits(
  parts: CreditParts,
  { tenant, amount, attribution }: Pick<Reservation, 'tenant' | 'amount' | 'attribution'>,
): Promise<void> {
  const payer = await findPayer(parts, tenant, attribution.userId, 'begin');
  const now = parts.now();
  const stored = await parts.accounts.get(payer.tenant);
  const { state } = new Book(stored ?? emptyAccount(monthOf(now)), now, parts.metersAll);
  const terms = fullTerms((await parts.usageSettings.get(payer.tenant))?.terms);
  const caps = await capsOf(parts, payer, state, terms, { attribution });
  const lasting = caps.map((cap) => ({ ...cap, taken: cap.taken - cap.reserved, reserved: 0 }));
  const reached = findReached(lasting, amount);
  if (reached !== undefined) throw capReached(reached, amount);
  requireCredits({ ...state, reserved: 0, reservedOverage: 0 }, terms, amount);
}

async function holdAmount(
  parts: CreditParts,
  work: UnitOfWork,
  payer: Payer,
  request: Reservation,
): Promise<ReservedParts> {
  const { key, amount, attribution } = request;
  // The account is read first, so that the counts behind the caps are as recent as the account, or the unit of work
  // fails.
  const account = await openAccount(parts, work, payer);
  const terms = fullTerms((await parts.usageSettings.get(payer.tenant))?.terms);
  const caps = await capsOf(parts, payer, account.book.state, terms, request);
  const reached = findReached(caps, amount);
  if (reached !== undefined) throw capReached(reached, amount);
  requireCredits(account.book.state, terms, amount);
  const held = account.book.reserve(amount);
  account.save({ sourceType: key.sourceType, sourceId: key.sourceId, ...userOf(attribution) });
  return held;
}

function requireCredits(state: AccountState, terms: UsageTerms, amount: Micros): void {
  const available = availableOf(state);
  if (!state.metered || amount <= available || allowsOverage(terms, state, amount - available)) return;
  if (!terms.overageEnabled) {
    throw InsufficientCredits({
      ...{ available: formatAmount(available), needed: formatAmount(amount) },
      reserved: formatAmount(state.reserved),
    });
  }
  const limit = ofCredits(terms.overageCapCredits ?? 0);
  const taken = state.overage + state.reservedOverage;
  // Credits that other work reserves but does not use reduce the overage that is still allowed.
  throw capReached(
    { name: 'tenant', limit, taken, reserved: state.reserved + state.reservedOverage },
    amount - available,
  );
}

/** Returns the caps in the order in which they are checked. */
async function capsOf(
  parts: CreditParts,
  payer: Payer,
  state: AccountState,
  terms: UsageTerms,
  { key, attribution: { userId }, perRunCap }: Pick<Reservation, 'attribution' | 'perRunCap'> & { readonly key?: Key },
): Promise<Cap[]> {
  const caps: Cap[] = [];
  const perRun = [perRunCap, hardCap(terms, terms.perRunCapCredits)].filter((limit) => limit !== undefined);
  if (perRun.length > 0) {
    const taken = key === undefined ? 0 : await parts.reservations.sum('taken', { sourceKey: sourceKeyOf(key) });
    // Waiting does not free credits that the run itself has reserved.
    caps.push({ name: 'per_run', limit: Math.min(...perRun), taken, reserved: 0 });
  }
  const perMember = hardCap(terms, terms.perMemberCapCredits);
  if (perMember !== undefined && userId !== undefined) {
    const { used, reserved } = await shareOfMember(parts, payer, state, userId);
    caps.push({ name: 'per_member', limit: perMember, taken: used + reserved, reserved });
  }
  const monthly = hardCap(terms, terms.monthlyCapCredits);
  if (monthly !== undefined)
    caps.push({ name: 'tenant', limit: monthly, taken: state.used + state.held, reserved: state.held });
  return caps;
}

function hardCap({ hardStop }: UsageTerms, credits: number | undefined): Micros | undefined {
  return hardStop && credits !== undefined ? ofCredits(credits) : undefined;
}

/** Returns the credits that a member has used this month and has reserved. */
export async function shareOfMember(
  { reservations, usage }: CreditParts,
  { tenant }: Payer,
  { month }: AccountState,
  userId: string,
): Promise<{ readonly used: Micros; readonly reserved: Micros }> {
  const since = { gte: periodOf(month).start };
  const [reserved, used] = await Promise.all([
    reservations.sum('amount', { tenant, state: 'open', userId }),
    usage.sum('credits', { tenant, userId, interval: 'day', at: since }),
  ]);
  return { used, reserved };
}

function capReached({ name, limit, taken, reserved }: Cap, needed: Micros): Error {
  return UsageCapReached({
    ...{ cap: name, limit: formatAmount(limit), taken: formatAmount(taken) },
    ...{ reserved: formatAmount(reserved), needed: formatAmount(needed) },
  });
}

function sourceKeyOf({ sourceType, sourceId }: Key): string {
  return `${sourceType}:${sourceId}`;
}

function userOf({ userId }: Attribution): { readonly userId?: string } {
  return userId === undefined ? {} : { userId };
}
