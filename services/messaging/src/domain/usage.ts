import type { DomainEvent } from '@commonplace/kit/events';
import type { CreditsLow, UsageAlert } from '@commonplace/proto/tenancy/v1/events.js';
import { type Draft, type Facts, idsIn, textIn } from './draft.js';

type UsageFacts = NonNullable<Facts['usage']>;

/** Returns the draft for the people to notify of a tenant whose usage has reached a threshold or a limit. */
export function usageAlert(event: DomainEvent): Draft[] {
  const { about = '', threshold = 0, used = '', limit = '' } = event.data as Partial<UsageAlert>;
  return draftOf(event, { about: about === 'overage' ? 'overage' : 'monthly_cap', threshold, used, limit });
}

/** Returns the draft for a tenant that has used most of its credits. */
export function creditsLow(event: DomainEvent): Draft[] {
  const { threshold = 0, available = '', granted = '' } = event.data as Partial<CreditsLow>;
  return draftOf(event, { about: 'credits', threshold, used: available, limit: granted });
}

function draftOf({ data, tenant = '' }: DomainEvent, usage: UsageFacts): Draft[] {
  const to = idsIn(data.notifyUserIds);
  if (to.length === 0) return [];
  const groupKey = `usage:${usage.about}:${textIn(data.period)}`;
  const orgId = textIn(data.orgId) || undefined;
  return [{ type: 'usage_alert', to, groupKey, target: { type: 'usage', id: tenant }, orgId, facts: { usage } }];
}
