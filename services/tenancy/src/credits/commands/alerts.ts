import type { Publishing } from '../../events.js';
import { formatAmount } from '../domain/amounts.js';
import type { Book } from '../domain/book.js';
import { type Alert, announcementOf, dueAlerts } from '../domain/caps.js';
import type { UsageTerms } from '../domain/settings.js';
import type { CreditParts } from '../parts.js';
import type { Payer } from '../records.js';

/** Maximum number of an Org's administrators that an alert names. */
const MAX_NOTIFIED = 200;

/** Publishes the due alerts, and records in the account that they were published. */
export async function publishDueAlerts(
  parts: CreditParts,
  context: Publishing,
  payer: Payer,
  book: Book,
  terms: UsageTerms,
): Promise<void> {
  const alerts = dueAlerts(book.state, terms);
  if (alerts.length === 0) return;
  book.announce(announcementOf(alerts));
  const { orgId = '', tenant } = payer;
  const about = { period: book.state.month, notifyUserIds: await responsibleOf(parts, payer), orgId };
  for (const alert of alerts) {
    const { type, data } = describe(alert, book);
    context.work.publish(context.event(type, tenant, { ...data, ...about }, tenant));
  }
}

function describe({ about, threshold, used, limit }: Alert, { available }: Book) {
  if (about === 'grants') {
    const data = { threshold, available: formatAmount(available), granted: formatAmount(limit) };
    return { type: 'credits.low', data };
  }
  return { type: 'usage.alert', data: { about, threshold, used: formatAmount(used), limit: formatAmount(limit) } };
}

/** Returns the ids of an Org's owners and administrators, or of the person whose Personal tenant it is. */
async function responsibleOf({ orgMembers }: CreditParts, { orgId, userId }: Payer): Promise<string[]> {
  if (orgId === undefined) return userId === undefined ? [] : [userId];
  const where = { orgId, status: 'active', role: { in: ['owner', 'admin'] } } as const;
  const members = await orgMembers.records.find({ where, limit: MAX_NOTIFIED });
  return members.flatMap((member) => member.userId ?? []);
}
