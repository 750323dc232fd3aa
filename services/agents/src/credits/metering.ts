import type { CallOptions, Client } from '@commonplace/kit/rpc';
import {
  CreditSource,
  type MeteringService,
  type ReservationKey,
  type UsageAttribution,
  UsageSource,
} from '@commonplace/proto/tenancy/v1/credit_service.js';
import type { Attribution, ChargeKey } from '../domain/charge.js';
import { formatCredits } from '../domain/micros.js';
import type { Ledger } from './ledger.js';

/** Milliseconds that a reservation lasts without renewal: the lease of a run plus five minutes. */
const TTL_MS = 315_000;

/** Creates a ledger that keeps the credits in the tenancy service. */
export function openLedger(metering: Client<MeteringService>, systemCall: () => CallOptions): Ledger {
  return {
    async reserve(key, about, micros, { max }) {
      await metering.reserveCredits(
        {
          key: keyOf(key),
          tenant: about.tenant,
          amount: formatCredits(micros),
          ttlMs: TTL_MS,
          attribution: attributionOf(about),
          perRunCap: max === undefined ? undefined : formatCredits(max),
        },
        systemCall(),
      );
    },
    async check(about, micros) {
      const amount = formatCredits(micros);
      await metering.checkCredits({ tenant: about.tenant, amount, attribution: attributionOf(about) }, systemCall());
    },
    async renew(key) {
      await metering.renewReservations({ keys: [keyOf(key)], ttlMs: TTL_MS }, systemCall());
    },
    async release(key) {
      await metering.releaseReservation({ key: keyOf(key) }, systemCall());
    },
    async settle(key, about, { inputTokens, outputTokens, micros, estimated }) {
      await metering.settleUsage(
        {
          key: keyOf(key),
          inputTokens,
          outputTokens,
          credits: formatCredits(micros),
          source: estimated ? UsageSource.ESTIMATED : UsageSource.PROVIDER,
          attribution: attributionOf(about),
        },
        systemCall(),
      );
    },
  };
}

function keyOf({ source, runId, step, attempt }: ChargeKey): ReservationKey {
  return {
    source: source === 'chat' ? CreditSource.CHAT : CreditSource.AGENT_RUN,
    sourceId: runId,
    step: String(step),
    attempt,
  };
}

function attributionOf({ feature, model, agentId, workspaceId, userId, apiKeyId }: Attribution): UsageAttribution {
  return { feature, model, agentId, workspaceId, userId, apiKeyId };
}
