import { invalidFields } from '@commonplace/kit/errors';
import { type Guard, UrlNotAllowed } from '@commonplace/kit/fetch';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe, parseJsonInSlices } from '@commonplace/kit/slices';
import { ContentMode, ReplaceContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import type { FormWebhookSecret } from '@commonplace/proto/resources/v1/form.js';
import type { Node } from '../domain/node.js';
import { replaceNode } from '../nodes/replace.js';
import { writeContent } from '../snapshots/write-content.js';
import type { Column } from '../tables/column.js';
import { fieldsFromColumns, planFieldColumns, requireRequiredColumns, withCollected } from './columns.js';
import { type FormConfig, type FormConfigInput, readConfig } from './config.js';
import { acceptsDefault, checkDefaults } from './defaults.js';
import type { FormField } from './field.js';
import type { FormParts } from './parts.js';
import { checkFieldPatterns } from './patterns.js';
import type { FormFaults } from './reader.js';
import type { FormRecord } from './records.js';
import { sealWebhooks } from './webhooks.js';

/** A form configuration in which every field has a column. */
interface PlacedConfig {
  readonly config: FormConfig;
  readonly made: readonly FormWebhookSecret[];
  /** The table, whose columns may have changed with the configuration. */
  readonly node: Node;
}

interface Owner {
  readonly id: string;
  readonly before: FormConfig | undefined;
}

/** Reads the configuration in a request. Throws all faults at once, including those concerning the table's columns. */
export async function checkConfig(
  parts: FormParts,
  node: Node,
  json: Buffer,
  before: FormConfig | undefined,
  context: CallContext,
): Promise<FormConfigInput> {
  const given = json.length === 0 ? { title: node.name } : await parseJsonInSlices(json, createBreathe(context.signal));
  const { config, faults } = readConfig(given);
  const columns = await parts.kinds.table.columns(node.id);
  const fields = config.fields ?? fieldsFromColumns(columns).map((field) => withAcceptedDefault(field, columns));
  const all = withCollected(fields, config.collect);
  if (all.length === 0) faults.add('config.fields', 'invalid_value', 'The table has no writable column.');
  const plan = planFieldColumns(all, before?.fields ?? [], columns, faults);
  requireRequiredColumns(plan.fields, columns, faults);
  if (config.webhooks.length > 0) checkTargets(await parts.forms.guard.of(node.tenant), config, faults);
  await checkFieldPatterns(parts.forms.deriver, node.tenant, all, before?.fields ?? [], faults);
  await checkDefaults({ ...plan, tenant: node.tenant, present: columns }, parts.forms.findMismatches, faults);
  await checkNotified(parts, node, config, faults, context);
  if (faults.list.length > 0) throw invalidFields(faults.list);
  return { ...config, fields: all };
}

/** Returns a field without a default that its column takes and its own type does not, such as a text of two lines. */
function withAcceptedDefault(field: FormField, columns: readonly Column[]): FormField {
  const { default: _, ...rest } = field;
  return acceptsDefault(field, columns) ? field : rest;
}

/** Adds a fault for each webhook URL that is not allowed, judged by its text alone. */
function checkTargets(guard: Guard, { webhooks }: FormConfigInput, faults: FormFaults): void {
  for (const [i, { url }] of webhooks.entries()) {
    try {
      if (url !== '') guard.check(url);
    } catch (error) {
      if (!(error instanceof UrlNotAllowed)) throw error;
      faults.add(`config.webhooks[${i}].url`, 'url_not_allowed', error.message);
    }
  }
}

async function checkNotified(
  { policy }: FormParts,
  node: Node,
  { notify_user_ids: ids }: FormConfigInput,
  faults: FormFaults,
  context: CallContext,
): Promise<void> {
  if (ids.length === 0) return;
  const readers = new Set(await policy.readersOf(node, ids, context));
  for (const [i, id] of ids.entries()) {
    if (!readers.has(id))
      faults.add(`config.notify_user_ids[${i}]`, 'invalid_value', 'must be a person who can read the table.');
  }
}

/** Creates missing columns for fields, and encrypts the secrets of webhooks. */
export async function placeConfig(
  parts: FormParts,
  node: Node,
  input: FormConfigInput,
  { id, before }: Owner,
  context: CallContext,
): Promise<PlacedConfig> {
  const columns = await parts.kinds.table.columns(node.id);
  const none: FormFaults = { add: () => undefined, list: [] };
  const plan = planFieldColumns(input.fields ?? [], before?.fields ?? [], columns, none);
  const written = plan.columns.length === 0 ? node : await writeColumns(parts, node, plan.columns, context);
  const owner = { tenant: node.tenant, record: id };
  const { webhooks, made } = sealWebhooks(
    input.webhooks,
    before?.webhooks ?? [],
    parts.forms.envelope,
    owner,
    Date.now(),
  );
  return { config: { ...input, fields: plan.fields as FormField[], webhooks }, made, node: written };
}

async function writeColumns(
  parts: FormParts,
  node: Node,
  columns: readonly Record<string, unknown>[],
  context: CallContext,
): Promise<Node> {
  const input = ReplaceContentRequest.fromPartial({
    mode: ContentMode.APPEND,
    columns: Buffer.from(JSON.stringify(columns)),
  });
  const prepared = await parts.kinds.table.write(node, input, context);
  // What the write warns of concerns the form as it was; the answer warns of the form as it is now.
  const silent = { ...prepared, warnings: [] };
  const written = await writeContent(parts, node, silent, { reason: 'append', preconditioned: false }, context);
  return written.node;
}

/** Returns a new form for a table, with its own tokens. */
export function newForm(
  { forms }: FormParts,
  node: Node,
  id: string,
  config: FormConfig,
  isActive: boolean,
  context: CallContext,
): Omit<FormRecord, 'version'> {
  const owner = { tenant: node.tenant, record: id };
  const token = forms.tokens.mint(owner);
  const hook = forms.tokens.mint(owner);
  const now = new Date().toISOString();
  return {
    id,
    tenant: node.tenant,
    resourceId: node.id,
    config,
    isActive,
    tokenHash: token.hash,
    tokenSealed: token.sealed,
    hookHash: hook.hash,
    hookSealed: hook.sealed,
    createdBy: context.actor,
    createdById: context.caller.userId,
    createdAt: now,
    updatedAt: now,
  };
}

/** Records on the table whether its form is active, so that lists show it without reading the form. */
export function markForm(parts: FormParts, node: Node, form: Node['form'], context: CallContext): Node {
  const { form: before, ...rest } = node;
  if (before?.isActive === form?.isActive) return node;
  return replaceNode(parts, context.work, node, { ...rest, ...(form && { form }) });
}
