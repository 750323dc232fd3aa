import { UrlNotAllowed } from '@commonplace/kit/fetch';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { may } from '../domain/access.js';
import { type FormConfig, readConfig } from '../forms/config.js';
import { sealWebhooks, type WebhookInput } from '../forms/webhooks.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';
import { markForm, newForm } from './forms.js';
import { type Given, recordIn, recordsIn } from './import-archived.js';
import type { ItemTerms } from './import-items.js';

/**
 * Makes a form as an archive has it, with tokens of its own, for whoever manages its table. Its webhooks are switched
 * off: the secrets that their receivers know are in no archive.
 */
export async function putForm(
  parts: Parts,
  node: Node,
  given: Given,
  { standing, people }: ItemTerms,
  warnings: string[],
  context: CallContext,
): Promise<Node> {
  const role = (await parts.policy.accessTo(node, standing))?.role;
  if (role === undefined || !may(role, 'manage')) {
    warnings.push('Its form was left out: only those who manage the table bring it along.');
    return node;
  }
  const { config, faults } = readConfig({ ...recordIn(given.config), notify_user_ids: [] });
  if (faults.list.length > 0 || config.fields === undefined) {
    warnings.push('Its form was left out: it can not be read.');
    return node;
  }
  const id = newId();
  const told = recordsIn(given.notify);
  const known = (await people.ids(told)).flatMap((one) => one ?? []);
  const notified = known.length === 0 ? [] : await parts.policy.readersOf(node, [...new Set(known)], context);
  if (notified.length < told.length) warnings.push('Not all whom its form tells of submissions can read it here.');
  const placed: FormConfig = {
    ...config,
    fields: config.fields,
    notify_user_ids: notified,
    webhooks: webhooksOf(parts, node, id, config.webhooks, warnings),
  };
  const isActive = given.is_active === true;
  const form = newForm(parts, node, id, placed, isActive, context);
  context.work.insert(parts.forms.forms, { ...form, createdById: standing.caller.userId });
  return markForm(parts, node, { isActive }, context);
}

function webhooksOf(
  { forms }: Parts,
  { tenant }: Node,
  record: string,
  webhooks: readonly WebhookInput[],
  warnings: string[],
): FormConfig['webhooks'] {
  const allowed = webhooks.filter(({ url }) => {
    try {
      forms.guard.check(url);
      return true;
    } catch (error) {
      if (error instanceof UrlNotAllowed) return false;
      throw error;
    }
  });
  if (allowed.length < webhooks.length)
    warnings.push('Webhooks of its form were left out: their URLs are not allowed.');
  if (allowed.length > 0) warnings.push('The webhooks of its form are switched off, and have new secrets.');
  const off = allowed.map((webhook) => ({ ...webhook, secret: undefined, is_active: false }));
  return sealWebhooks(off, [], forms.envelope, { tenant, record }, Date.now()).webhooks;
}
