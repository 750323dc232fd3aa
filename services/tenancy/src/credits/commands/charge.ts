import { NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Publishing } from '../../events.js';
import type { Micros } from '../domain/amounts.js';
import { fullTerms } from '../domain/settings.js';
import type { CreditParts } from '../parts.js';
import { type Attribution, type Key, keyId, type Payer, type ReservationRecord } from '../records.js';
import { openAccount } from './account.js';
import { publishDueAlerts } from './alerts.js';
import { findPayer } from './payer.js';
import { newReservation } from './reserve.js';
import { addUsage, type Consumption } from './usage.js';

export interface Charge {
  readonly credits: Micros;
  readonly overage: Micros;
  /** Whether this call made the charge. */
  readonly charged: boolean;
}

/** Charges the usage of a reservation, and releases the rest. Throws NotFound for a key without a reservation. */
export async function settleUsage(
  parts: CreditParts,
  context: Publishing,
  key: Key,
  consumption: Consumption,
  attribution: Attribution | undefined,
): Promise<Charge> {
  const reservation = await context.work.get(parts.reservations, keyId(key));
  if (reservation === undefined) throw NotFound();
  if (reservation.state === 'settled') return chargeOf(reservation, false);
  const settled = { ...reservation, attribution: attribution ?? reservation.attribution };
  const overage = await charge(parts, context, payerOf(reservation), settled, consumption);
  const { credits: taken } = consumption;
  const ended = { ...settled, state: 'settled', taken, overage, dueAt: undefined } as const;
  return chargeOf(context.work.replace(parts.reservations, reservation, ended), true);
}

/** Charges usage that was not reserved. */
export async function recordUsage(
  parts: CreditParts,
  context: Publishing,
  key: Key,
  tenant: string,
  consumption: Consumption,
  attribution: Attribution,
): Promise<Charge> {
  const existing = await context.work.get(parts.reservations, keyId(key));
  if (existing !== undefined) return chargeOf(existing, false);
  const payer = await findPayer(parts, tenant, attribution.userId, 'charge');
  const mark = { ...newReservation(parts, payer, key, attribution), state: 'settled' } as const;
  const overage = await charge(parts, context, payer, mark, consumption);
  const { credits: taken } = consumption;
  return chargeOf(context.work.insert(parts.reservations, { ...mark, taken, overage }), true);
}

/** Releases a reservation that is open. Returns whether it was. */
export async function releaseReservation(
  parts: CreditParts,
  work: CallContext['work'],
  reservation: ReservationRecord | undefined,
  description?: string,
): Promise<boolean> {
  if (reservation?.state !== 'open') return false;
  const { sourceType, sourceId, userId } = reservation;
  if (reservation.amount > 0) {
    const account = await openAccount(parts, work, payerOf(reservation));
    account.book.release(reservation, description);
    account.save({ sourceType, sourceId, ...(userId !== undefined && { userId }) });
  }
  work.replace(parts.reservations, reservation, { ...reservation, state: 'released', taken: 0, dueAt: undefined });
  return true;
}

/** Charges the account and counts the usage. Returns the overage. Does not write the account if the amount is zero. */
async function charge(
  parts: CreditParts,
  context: Publishing,
  payer: Payer,
  reservation: Omit<ReservationRecord, 'version'>,
  consumption: Consumption,
): Promise<Micros> {
  const { work } = context;
  const { attribution, sourceType, sourceId } = reservation;
  // The usage and the ledger entries get the same time, so that the usage of a month equals what its entries consume.
  const at = parts.now();
  addUsage(parts, work, payer.tenant, attribution, consumption, at);
  const isHeld = reservation.state === 'open' && reservation.amount > 0;
  if (consumption.credits === 0 && !isHeld) return 0;
  const { userId } = attribution;
  const account = await openAccount(parts, work, payer, at);
  if (isHeld) account.book.release(reservation);
  const overage = account.book.consume(consumption.credits, describe(attribution, consumption));
  const terms = fullTerms((await parts.usageSettings.get(payer.tenant))?.terms);
  await publishDueAlerts(parts, context, payer, account.book, terms);
  account.save({ sourceType, sourceId, ...(userId !== undefined && { userId }) });
  return overage;
}

function payerOf({ tenant, orgId, userId }: ReservationRecord): Payer {
  return orgId === undefined ? { tenant, ...(userId !== undefined && { userId }) } : { tenant, orgId };
}

function chargeOf({ state, taken, overage }: ReservationRecord, charged: boolean): Charge {
  return state === 'settled' ? { credits: taken, overage, charged } : { credits: 0, overage: 0, charged: false };
}

function describe({ feature, model }: Attribution, { inputTokens, outputTokens, isEstimated }: Consumption): string {
  const by = model === undefined ? feature : `${feature} with ${model}`;
  const tokens = inputTokens + outputTokens;
  return tokens === 0 ? by : `${by}, ${tokens} tokens${isEstimated ? ' (estimated)' : ''}`;
}
