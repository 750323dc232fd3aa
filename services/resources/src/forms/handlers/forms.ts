import { InsufficientRole } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import { KEPT } from '@commonplace/platform/webhooks';
import type { FormWebhookSecret } from '@commonplace/proto/resources/v1/form.js';
import { FormInclude, type FormService, type ResourceForm } from '@commonplace/proto/resources/v1/form_service.js';
import type { Node } from '../../domain/node.js';
import { may } from '../../domain/role.js';
import { FormExists, FormNotFound, NotATable, NoUpdateField } from '../../errors.js';
import { publishChange } from '../../events.js';
import { type AccessSubject, blockedBy, requireCapability, requireWritable, type Seen } from '../../policy.js';
import { warn } from '../../snapshots/write-content.js';
import { surroundingsOf } from '../../tree/surroundings.js';
import { accessMessage, resourceMessage } from '../../wire.js';
import { bindFields, bindingWarnings } from '../columns.js';
import { checkConfig, markForm, newForm, placeConfig } from '../commands.js';
import { removeForm } from '../forget.js';
import type { FormParts } from '../parts.js';
import { type FormRecord, formOf } from '../records.js';
import { formMessage } from '../shown.js';
import { submitForm } from '../submit.js';

/** Optional parts of a response that contains a form. */
interface OptionalParts {
  readonly made?: readonly FormWebhookSecret[];
  readonly withDeliveries?: boolean;
}

/** Fields that the replay of an idempotent request omits. */
const TOKENS = ['token', 'submitUrl', 'publicUrl', 'webhookToken', 'webhookUrl', 'webhookSecrets'];

export function createFormHandlers(parts: FormParts): Handlers<FormService> {
  const { policy, forms } = parts;

  async function manageable(id: string, subject: AccessSubject): Promise<Seen> {
    const seen = await policy.see(id, subject);
    requireCapability(seen, 'write');
    requireCapability(seen, 'manage');
    requireTable(seen.node);
    return seen;
  }

  async function requireForm(node: Node): Promise<FormRecord> {
    const form = await formOf(forms, node.id);
    if (form === undefined) throw FormNotFound();
    return form;
  }

  async function answer(
    seen: Seen,
    form: FormRecord,
    subject: AccessSubject,
    context: CallContext,
    { made = [], withDeliveries = false }: OptionalParts = {},
  ): Promise<ResourceForm> {
    const { node } = seen;
    const manages = may(seen.access.role, 'manage');
    const owner = { tenant: form.tenant, record: form.id };
    const columns = await columnsNow(node, context);
    const binding = bindFields(form.config, columns);
    warn({ warnings: bindingWarnings(binding, columns) }, context);
    const tokens = manages
      ? { token: forms.tokens.open(form.tokenSealed, owner), hook: forms.tokens.open(form.hookSealed, owner) }
      : undefined;
    if (manages) for (const field of TOKENS) context.once(`form.${field}`);
    const publicUrl = parts.settings.publicUrl.replace(/\/$/, '');
    return {
      resource: resourceMessage(seen, await surroundingsOf(parts, seen, subject)),
      access: accessMessage(seen),
      form: formMessage({
        form,
        tally: await forms.tallies.get(form.id),
        binding,
        tokens,
        publicUrl,
        made,
        switchedOff: form.config.webhooks.length === 0 ? undefined : await forms.deliveries.disabledOf(form.id),
        deliveries: withDeliveries && manages ? await forms.deliveries.latest(form.id, KEPT) : [],
      }),
    };
  }

  /** Returns the columns including the uncommitted changes of this call. */
  const columnsNow = (node: Node, context: CallContext) => parts.kinds.table.columns(node.id, context.work);

  return {
    async getForm({ resourceId, include }, context) {
      const subject = await policy.subject(context);
      const seen = await policy.see(resourceId, subject);
      requireTable(seen.node);
      const withDeliveries = include.includes(FormInclude.DELIVERIES);
      return answer(seen, await requireForm(seen.node), subject, context, { withDeliveries });
    },

    async createForm({ resourceId, config, isActive = true }, context) {
      const subject = await policy.subject(context);
      const seen = await manageable(resourceId, subject);
      const input = await checkConfig(parts, seen.node, config, undefined, context);
      requireWritable(seen);
      if ((await formOf(forms, seen.node.id)) !== undefined) throw FormExists();
      const id = newId();
      const {
        config: placed,
        made,
        node,
      } = await placeConfig(parts, seen.node, input, { id, before: undefined }, context);
      const form = context.work.insert(forms.forms, newForm(parts, node, id, placed, isActive, context));
      const marked = markForm(parts, node, { isActive }, context);
      publishChange(context, { verb: 'resource.updated', fields: ['form'] }, marked);
      return answer({ ...seen, node: marked }, form, subject, context, { made });
    },

    async updateForm({ resourceId, config, isActive, rotateWebhookToken, resendDeliveryIds }, context) {
      // A field that is null counts as not supplied.
      const supplied = [isActive, rotateWebhookToken].some((value) => value !== undefined);
      if (config.length === 0 && !supplied && resendDeliveryIds.length === 0) throw NoUpdateField();
      const subject = await policy.subject(context);
      const seen = await policy.seeEvenTrashed(resourceId, subject);
      await requireCurrentRights(seen, () => policy.see(resourceId, subject));
      requireTable(seen.node);
      const before = await requireForm(seen.node);
      const owner = { id: before.id, before: before.config };
      const input =
        config.length === 0 ? undefined : await checkConfig(parts, seen.node, config, before.config, context);
      requireVersion(context, before.version, before);
      const placed = input && (await placeConfig(parts, seen.node, input, owner, context));
      const form = replaceChanged(context.work, forms.forms, before, {
        ...before,
        ...(placed && { config: placed.config }),
        ...(isActive !== undefined && { isActive }),
        ...(rotateWebhookToken === true && rotated(before)),
        updatedAt: new Date().toISOString(),
      });
      // Configuring a webhook enables it again if failed deliveries had switched it off.
      for (const { id, is_active: on } of placed?.config.webhooks ?? []) {
        if (on) await forms.deliveries.enable(context.work, form.id, id);
      }
      for (const id of resendDeliveryIds) await forms.deliveries.resend(context.work, form.id, id);
      const held = placed?.node ?? seen.node;
      if (form === before) return answer({ ...seen, node: held }, form, subject, context, { made: [] });
      const node = markForm(parts, held, { isActive: form.isActive }, context);
      publishChange(context, { verb: 'resource.updated', fields: ['form'] }, node);
      return answer({ ...seen, node }, form, subject, context, { made: placed?.made ?? [] });
    },

    async deleteForm({ resourceId }, context) {
      const seen = await manageable(resourceId, await policy.subject(context));
      const form = await requireForm(seen.node);
      requireWritable(seen);
      requireVersion(context, form.version, form);
      await removeForm(parts, context.work, form, seen.node.workspaceId);
      const node = markForm(parts, seen.node, undefined, context);
      publishChange(context, { verb: 'resource.updated', fields: ['form'] }, node);
      return { id: form.id, deleted: true };
    },

    submitForm: (request, context) => submitForm(parts, request, context),
  };

  function rotated({ id, tenant }: FormRecord): Pick<FormRecord, 'hookHash' | 'hookSealed'> {
    const { hash, sealed } = forms.tokens.mint({ tenant, record: id });
    return { hookHash: hash, hookSealed: sealed };
  }
}

function requireTable(node: Node): void {
  if (node.type !== 'table') throw NotATable({ type: node.type });
}

/**
 * Throws unless the caller may write and manage the table now. No one can while it is archived, locked or in the trash
 * (specification 4.10). A trashed table is NotFound for callers who may not write.
 */
async function requireCurrentRights(seen: Seen, see: () => Promise<Seen>): Promise<void> {
  const { role } = seen.access;
  const blocked = blockedBy(seen);
  if (blocked === 'trashed' && !may(role, 'write')) await see();
  requireCapability(seen, 'write');
  requireCapability(seen, 'manage');
  if (blocked !== undefined) throw InsufficientRole({ role, needed: 'manager', blocked_by: blocked });
}
