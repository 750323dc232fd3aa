import type { Actor } from '@commonplace/kit/auth';
import { actorMessage } from '@commonplace/platform/actors';
import type { Delivery, DisabledReason } from '@commonplace/platform/webhooks';
import type { Form, FormWebhookSecret } from '@commonplace/proto/resources/v1/form.js';
import type { Binding } from './columns.js';
import { deliveryMessage } from './deliveries.js';
import type { FormField } from './field.js';
import type { FormRecord, FormTally } from './records.js';
import { shownWebhook } from './webhooks.js';

/** The tokens of a form, for callers who may manage it. */
interface ShownTokens {
  readonly token: string;
  readonly hook: string;
}

interface ShownForm {
  readonly form: FormRecord;
  readonly tally: Pick<FormTally, 'count' | 'lastSubmittedAt'> | undefined;
  readonly binding: Binding;
  readonly tokens: ShownTokens | undefined;
  readonly publicUrl: string;
  readonly made?: readonly FormWebhookSecret[];
  /** Reasons why webhooks were disabled, by webhook id. */
  readonly switchedOff?: ReadonlyMap<string, DisabledReason> | undefined;
  readonly deliveries?: readonly Delivery[];
}

/** Returns a form as the API presents it. */
export function formMessage({
  form,
  tally,
  binding,
  tokens,
  publicUrl,
  made = [],
  switchedOff,
  deliveries = [],
}: ShownForm): Form {
  return {
    id: form.id,
    resourceId: form.resourceId,
    config: Buffer.from(JSON.stringify(shownConfig(form, binding, switchedOff))),
    isActive: form.isActive,
    token: tokens?.token,
    submitUrl: tokens && submitUrl(publicUrl, tokens.token),
    publicUrl: tokens && `${publicUrl}/f/${tokens.token}`,
    webhookToken: tokens?.hook,
    webhookUrl: tokens && `${publicUrl}/api/v1/hooks/forms/${tokens.hook}`,
    submissionCount: tally?.count ?? 0,
    lastSubmittedAt: tally?.lastSubmittedAt,
    createdBy: actorMessage(form.createdBy as Actor),
    createdAt: form.createdAt,
    updatedAt: form.updatedAt,
    version: form.version,
    webhookSecrets: [...made],
    deliveries: deliveries.map((delivery) => deliveryMessage(form, delivery)),
  };
}

export function submitUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/api/v1/forms/${token}/submit`;
}

/** Returns a configuration in the API's format; fields without a usable column in `binding` are marked as disabled. */
export function shownConfig(
  { config }: Pick<FormRecord, 'config'>,
  { fields, disabled }: Pick<Binding, 'fields' | 'disabled'> = { fields: [], disabled: new Map() },
  switchedOff?: ShownForm['switchedOff'],
): Record<string, unknown> {
  const bound = new Map(fields.map(({ column: _column, ...field }) => [field.id, field]));
  return {
    title: config.title,
    description: config.description ?? null,
    fields: config.fields.map((field) => shownField(bound.get(field.id) ?? field, disabled.has(field.id))),
    submit_label: config.submit_label ?? null,
    success_message: config.success_message ?? null,
    redirect_url: config.redirect_url ?? null,
    language: config.language ?? null,
    close_at: config.close_at ?? null,
    max_submissions: config.max_submissions ?? null,
    one_response_per: config.one_response_per,
    require_captcha: config.require_captcha,
    allow_attachments: config.allow_attachments,
    collect: config.collect,
    notify_user_ids: config.notify_user_ids,
    webhooks: config.webhooks.map((webhook) => shownWebhook(webhook, switchedOff?.get(webhook.id))),
    mapping: config.mapping,
  };
}

/** Returns a field in the API's format, with defaults and null for what is not set. */
function shownField(field: FormField, disabled: boolean): Record<keyof FormField | 'disabled', unknown> {
  return {
    id: field.id,
    column_id: field.column_id ?? null,
    type: field.type,
    label: field.label,
    help_text: field.help_text ?? null,
    placeholder: field.placeholder ?? null,
    required: field.required ?? false,
    default: field.default ?? null,
    options: field.options ?? null,
    min: field.min ?? null,
    max: field.max ?? null,
    min_length: field.min_length ?? null,
    max_length: field.max_length ?? null,
    pattern: field.pattern ?? null,
    max_files: field.max_files ?? null,
    accept: field.accept ?? null,
    visible_if: field.visible_if === undefined ? null : { ...field.visible_if, value: field.visible_if.value ?? null },
    disabled,
  };
}
