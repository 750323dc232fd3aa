import { type Fault, invalidFields } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import {
  CreditSource,
  type MeteringService,
  type ReservationKey,
  type UsageAttribution,
  UsageSource,
} from '@commonplace/proto/tenancy/v1/credit_service.js';
import { recordUsage, releaseReservation, settleUsage } from '../commands/charge.js';
import { checkCredits, reserveCredits } from '../commands/reserve.js';
import type { Consumption } from '../commands/usage.js';
import { formatAmount, MAX_BALANCE, MAX_CALL, type Micros, parseAmount } from '../domain/amounts.js';
import type { CreditParts } from '../parts.js';
import { type Attribution, type Key, keyId } from '../records.js';
import { readAttribution, sourceOf, toCharge, toReservation } from '../views/wire.js';

const MAX_TTL_MS = 3_600_000;
const MAX_KEYS = 100;

export function createMeteringHandlers(parts: CreditParts): Handlers<MeteringService> {
  const { reservations } = parts;
  return {
    async reserveCredits({ key, tenant, amount, ttlMs, attribution, perRunCap }, { work }) {
      const faults: Fault[] = [];
      const request = {
        key: readKey(key, faults),
        tenant,
        amount: readAmount('amount', amount, faults),
        ttlMs: readTtl(ttlMs, faults),
        attribution: requireAttribution(attribution, faults),
        perRunCap: perRunCap === undefined ? undefined : readAmount('per_run_cap', perRunCap, faults, MAX_BALANCE),
      };
      requireNone(faults);
      return toReservation(await reserveCredits(parts, work, request));
    },

    async checkCredits({ tenant, amount, attribution }) {
      const faults: Fault[] = [];
      const request = {
        tenant,
        amount: readAmount('amount', amount, faults),
        attribution: requireAttribution(attribution, faults),
      };
      requireNone(faults);
      await checkCredits(parts, request);
      return {};
    },

    async renewReservations({ keys, ttlMs }, { work }) {
      const faults: Fault[] = [];
      if (keys.length > MAX_KEYS) faults.push(fault('keys', 'too_many_items', `may have at most ${MAX_KEYS} items.`));
      const ids = keys.map((key) => keyId(readKey(key, faults)));
      const expiresAt = parts.now(readTtl(ttlMs, faults));
      requireNone(faults);
      const open = (await reservations.getMany([...new Set(ids)])).filter(({ state }) => state === 'open');
      const renewed = open.map((one) => work.replace(reservations, one, { ...one, expiresAt, dueAt: expiresAt }));
      return { reservations: renewed.map(toReservation) };
    },

    async settleUsage({ key, attribution, ...used }, context) {
      const faults: Fault[] = [];
      const known = readKey(key, faults);
      const consumption = readConsumption(used, faults);
      requireNone(faults);
      return toCharge(await settleUsage(parts, context, known, consumption, readAttribution(attribution)));
    },

    async releaseReservation({ key }, { work }) {
      const faults: Fault[] = [];
      const known = readKey(key, faults);
      requireNone(faults);
      return { released: await releaseReservation(parts, work, await work.get(reservations, keyId(known))) };
    },

    async recordUsage({ key, tenant, attribution, ...used }, context) {
      const faults: Fault[] = [];
      const known = readKey(key, faults);
      const consumption = readConsumption(used, faults);
      const by = requireAttribution(attribution, faults);
      requireNone(faults);
      return toCharge(await recordUsage(parts, context, known, tenant, consumption, by));
    },
  };
}

interface Used {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly credits: string;
  readonly source: UsageSource;
  readonly requests?: number;
}

function readConsumption(
  { inputTokens, outputTokens, credits, source, requests = 0 }: Used,
  faults: Fault[],
): Consumption {
  if (inputTokens < 0) faults.push(fault('input_tokens', 'invalid_value', 'is negative.'));
  if (outputTokens < 0) faults.push(fault('output_tokens', 'invalid_value', 'is negative.'));
  if (requests < 0) faults.push(fault('requests', 'invalid_value', 'is negative.'));
  const isEstimated = source === UsageSource.ESTIMATED;
  const counts = { inputTokens, outputTokens, requests: requests || 1 };
  return { ...counts, credits: readAmount('credits', credits, faults), isEstimated };
}

function readKey(key: ReservationKey | undefined, faults: Fault[]): Key {
  const sourceType = sourceOf(key?.source ?? CreditSource.UNSPECIFIED);
  if (key === undefined || sourceType === undefined || key.sourceId === '') {
    faults.push(fault('key', 'missing_field', 'must contain a source and its id.'));
  }
  const { sourceId = '', step = '', attempt = 0 } = key ?? {};
  return { sourceType: sourceType ?? 'manual', sourceId, step, attempt };
}

function requireAttribution(given: UsageAttribution | undefined, faults: Fault[]): Attribution {
  const attribution = readAttribution(given);
  if (attribution === undefined) faults.push(fault('attribution.feature', 'missing_field', 'is required.'));
  return attribution ?? { feature: '' };
}

function readAmount(param: string, text: string, faults: Fault[], most = MAX_CALL): Micros {
  const amount = parseAmount(text === '' ? '0' : text, most);
  if (amount === undefined) {
    faults.push(
      fault(param, 'invalid_value', `must be a decimal number from 0 to ${formatAmount(most)}, such as 0.25.`),
    );
  }
  return amount ?? 0;
}

function readTtl(ttlMs: number, faults: Fault[]): number {
  if (ttlMs < 1 || ttlMs > MAX_TTL_MS)
    faults.push(fault('ttl_ms', 'invalid_value', `must be from 1 to ${MAX_TTL_MS}.`));
  return ttlMs;
}

function fault(param: string, code: string, message: string): Fault {
  return { param, code, message };
}

function requireNone(faults: Fault[]): void {
  if (faults.length > 0) throw invalidFields(faults);
}
