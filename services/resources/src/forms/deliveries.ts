import type { TenantGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import type { Envelope } from '@commonplace/kit/secrets';
import type { Store, UnitOfWork } from '@commonplace/kit/store';
import { type Delivery, openWebhooks, type Webhooks } from '@commonplace/platform/webhooks';
import type { FormDelivery } from '@commonplace/proto/resources/v1/form.js';
import { FormDeliveryStatus } from '@commonplace/proto/resources/v1/form.js';
import { eventsBy } from '../events.js';
import type { Tree } from '../nodes/tree.js';
import type { FormRecord, FormStores } from './records.js';

interface DeliveryParts {
  readonly store: Store;
  readonly log: Log;
  readonly guard: TenantGuard;
  readonly envelope: Envelope;
  readonly forms: FormStores['forms'];
  readonly tree: Tree;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Opens the webhooks that deliver submissions to the targets of their forms. */
export function openDeliveries({ store, log, guard, envelope, forms, tree, now }: DeliveryParts): Promise<Webhooks> {
  return openWebhooks({
    service: 'resources',
    store,
    log,
    guard,
    now,
    async target(formId, targetId) {
      const form = await forms.get(formId);
      const webhook = form?.config.webhooks.find(({ id }) => id === targetId);
      if (form === undefined || webhook === undefined || !webhook.is_active) return undefined;
      const owner = { tenant: form.tenant, record: form.id };
      const { url, sealed, former } = webhook;
      const formerSigns = former !== undefined && Date.parse(former.until) > now();
      const secrets = formerSigns ? [sealed, former.sealed] : [sealed];
      return { url, secrets: secrets.map((secret) => envelope.open(secret, owner)) };
    },
    async disabled(work, delivery, reason) {
      const form = await forms.get(delivery.ownerId);
      if (form === undefined) return;
      const [node] = await tree.getMany([form.resourceId]);
      if (node === undefined) return;
      const webhook = form.config.webhooks.find(({ id }) => id === delivery.targetId);
      const actor = { type: 'system', id: 'resources', name: 'Webhooks' } as const;
      const { event } = eventsBy(actor, form.tenant, work);
      const about = { formId: form.id, resourceId: node.id, workspaceId: node.workspaceId, reason };
      const host = webhook === undefined ? '' : new URL(webhook.url).host;
      const data = { ...about, host, notifyUserIds: [form.createdById] };
      work.publish(event('webhook.disabled', form.id, data));
    },
  });
}

/** An event as receivers see it, in the format of all events that leave the workspace. */
interface SentEvent {
  readonly id: string;
  readonly actor: { readonly type: string; readonly id: string } | undefined;
  readonly workspaceId: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Queues a submission for all active webhooks of its form, in the unit of work that creates its row. */
export async function sendSubmitted(
  webhooks: Webhooks,
  work: UnitOfWork,
  { id: ownerId, tenant, config }: FormRecord,
  { id: eventId, actor, workspaceId, at, data }: SentEvent,
): Promise<void> {
  const type = 'form.submitted';
  const targets = config.webhooks.filter((one) => one.is_active && one.events.includes(type)).map(({ id }) => id);
  if (targets.length === 0) return;
  const by = actor === undefined ? null : { type: actor.type, id: actor.id };
  const body = { id: eventId, type, timestamp: at, workspace_id: workspaceId, actor: by, data, chain: [] };
  await webhooks.send(work, { tenant, ownerId, eventId, type, body: JSON.stringify(body) }, targets);
}

/** Returns a delivery as managers of the form see it, without the values that were sent, which are in the row. */
export function deliveryMessage({ config }: FormRecord, delivery: Delivery): FormDelivery {
  const { id, targetId, eventId, type, status, attempts, dueAt, last, createdAt } = delivery;
  return {
    id,
    webhookId: targetId,
    url: config.webhooks.find((one) => one.id === targetId)?.url,
    eventId,
    type,
    status: FormDeliveryStatus[status.toUpperCase() as keyof typeof FormDeliveryStatus],
    attempts,
    responseStatus: last?.status,
    error: last?.error,
    durationMs: last?.durationMs,
    responseHead: last?.head,
    attemptedAt: last?.at,
    nextAttemptAt: dueAt,
    createdAt,
  };
}
