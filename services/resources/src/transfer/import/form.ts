import { UrlNotAllowed } from '@commonplace/kit/fetch';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Node } from '../../domain/node.js';
import { may } from '../../domain/role.js';
import { markForm, newForm } from '../../forms/commands.js';
import { type FormConfig, readConfig } from '../../forms/config.js';
import type { FormField } from '../../forms/field.js';
import { sealWebhooks, type WebhookInput } from '../../forms/webhooks.js';
import type { TransferParts } from '../parts.js';
import { type ArchiveJson, recordIn, recordsIn } from './archive-json.js';
import type { ItemTerms } from './item-terms.js';

/**
 * Creates a form from an archive, with new tokens, if the caller manages its table. Its webhooks are switched off,
 * because an archive does not contain the secrets that their receivers know.
 */
export async function putForm(
  parts: TransferParts,
  node: Node,
  given: ArchiveJson,
  { subject, people }: ItemTerms,
  warnings: string[],
  context: CallContext,
): Promise<Node> {
  const role = (await parts.policy.accessTo(node, subject))?.role;
  if (role === undefined || !may(role, 'manage')) {
    warnings.push('Its form was left out: only managers of the table can import it.');
    return node;
  }
  const { config, faults } = readConfig({ ...recordIn(given.config), notify_user_ids: [] });
  if (faults.list.length > 0 || config.fields === undefined) {
    warnings.push('Its form was left out: it cannot be read.');
    return node;
  }
  const fields = await withoutFaultyPatterns(parts, node, config.fields, warnings);
  const id = newId();
  const named = recordsIn(given.notify);
  const known = (await people.ids(named)).flatMap((one) => one ?? []);
  const notified = known.length === 0 ? [] : await parts.policy.readersOf(node, [...new Set(known)], context);
  if (notified.length < named.length)
    warnings.push('Some people whom its form notifies of submissions cannot read it here.');
  const placed: FormConfig = {
    ...config,
    fields,
    notify_user_ids: notified,
    webhooks: await webhooksOf(parts, node, id, config.webhooks, warnings),
  };
  const isActive = given.is_active === true;
  const form = newForm(parts, node, id, placed, isActive, context);
  context.work.insert(parts.forms.forms, { ...form, createdById: subject.caller.userId });
  return markForm(parts, node, { isActive }, context);
}

async function webhooksOf(
  { forms }: Pick<TransferParts, 'forms'>,
  { tenant }: Node,
  record: string,
  webhooks: readonly WebhookInput[],
  warnings: string[],
): Promise<FormConfig['webhooks']> {
  if (webhooks.length === 0) return [];
  const guard = await forms.guard.of(tenant);
  const allowed = webhooks.filter(({ url }) => {
    try {
      guard.check(url);
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

/** Returns the fields, without patterns that cannot be used; adds a warning for each. */
async function withoutFaultyPatterns(
  { forms }: Pick<TransferParts, 'forms'>,
  { tenant }: Node,
  fields: readonly FormField[],
  warnings: string[],
): Promise<readonly FormField[]> {
  const patterns = [...new Set(fields.flatMap(({ pattern }) => pattern ?? []))];
  if (patterns.length === 0) return fields;
  const found = await forms.deriver.findPatternFaults(tenant, patterns);
  return fields.map((field) => {
    const { pattern, ...rest } = field;
    const fault = pattern === undefined ? undefined : found[patterns.indexOf(pattern)];
    if (fault === undefined) return field;
    warnings.push(`The pattern of the field ${field.id} of its form was left out: it ${fault}`);
    return rest;
  });
}
