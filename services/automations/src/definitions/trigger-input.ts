import type { Faults } from '@commonplace/kit/errors';
import { specifiedName } from '@commonplace/platform/enums';
import { type EventType, isEventType, SCOPES_OF } from '@commonplace/platform/public-events';
import { isWebhookSecret } from '@commonplace/platform/webhooks';
import type { Trigger, TriggerConfig, WebhookVerify } from '@commonplace/proto/automations/v1/automation.js';
import { WORK_ITEM_FIELDS } from '../domain/work-item-fields.js';
import { NOT_OF_WORKSPACES, TRIGGER_EVENT_TYPES } from './event-types.js';
import type { StoredTrigger, TriggerType, VerifyType } from './records.js';

/** A trigger in a request, and the secret for its signatures if the request contains one. */
interface GivenTrigger {
  readonly trigger: StoredTrigger;
  readonly verifySecret?: string | undefined;
}

type Field = keyof TriggerConfig;

/** The config fields of each type of trigger. */
const FIELDS: Readonly<Record<TriggerType, readonly Field[]>> = {
  manual: [],
  schedule: [],
  webhook: ['verify'],
  event: ['types', 'parentId', 'resourceType', 'tagId'],
  form_submission: ['formId'],
  row_created: ['tableId'],
  row_updated: ['tableId', 'columns'],
  work_item_changed: ['fields'],
};

const NAMES: Readonly<Record<Field, string>> = {
  types: 'types',
  parentId: 'parent_id',
  resourceType: 'resource_type',
  tagId: 'tag_id',
  formId: 'form_id',
  tableId: 'table_id',
  columns: 'columns',
  fields: 'fields',
  verify: 'verify',
};

/** Headers with credentials of this API, which the gateway does not pass on to automations. */
const NO_SIGNATURE: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization', 'x-api-key']);
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const WORK_FIELDS: ReadonlySet<string> = new Set(WORK_ITEM_FIELDS);

/** Reads the trigger of a request. The stored secret is kept as long as the type of verification stays the same. */
export function readTrigger(
  given: Trigger,
  before: StoredTrigger | undefined,
  faults: Faults,
): GivenTrigger | undefined {
  const type = specifiedName<TriggerType>(given.type, 'TRIGGER_TYPE');
  if (type === undefined) return faults.add('trigger.type', 'missing_field', 'is required.');
  const config = given.config ?? NO_CONFIG;
  for (const [field, name] of Object.entries(NAMES) as [Field, string][]) {
    if (isGiven(config[field]) && !FIELDS[type].includes(field)) {
      faults.add(`trigger.config.${name}`, 'unknown_field', `is not a field of a trigger of the type ${type}.`);
    }
  }
  if (type === 'webhook') return readWebhook(config.verify, before, faults);
  if (type === 'event') checkTypes(config.types, faults);
  if ((type === 'row_created' || type === 'row_updated') && config.tableId === undefined) {
    faults.add('trigger.config.table_id', 'missing_field', 'is required.');
  }
  for (const [index, field] of config.fields.entries()) {
    if (WORK_FIELDS.has(field)) continue;
    faults.add(`trigger.config.fields[${index}]`, 'invalid_value', `must be one of ${WORK_ITEM_FIELDS.join(', ')}.`);
  }
  const { types, parentId, resourceType, tagId, formId, tableId, columns, fields } = config;
  const stored = { parentId, resourceType, tagId, formId, tableId, ...lists({ types, columns, fields }) };
  return { trigger: { type, ...defined(stored) } };
}

const NO_CONFIG: TriggerConfig = { types: [], columns: [], fields: [], verify: undefined };

const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== undefined);

const defined = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;

/** Returns the lists without duplicates; empty lists become undefined. */
const lists = (fields: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, list]) => [name, list.length > 0 ? [...new Set(list)] : undefined]),
  );

function checkTypes(types: readonly string[], faults: Faults): void {
  if (types.length === 0)
    faults.add('trigger.config.types', 'missing_field', `is required: some of ${TRIGGER_EVENT_TYPES.join(', ')}.`);
  for (const [index, type] of types.entries()) {
    if (isEventType(type) && !NOT_OF_WORKSPACES.has(type)) continue;
    faults.add(`trigger.config.types[${index}]`, 'invalid_value', `must be one of ${TRIGGER_EVENT_TYPES.join(', ')}.`);
  }
}

function readWebhook(
  verify: WebhookVerify | undefined,
  before: StoredTrigger | undefined,
  faults: Faults,
): GivenTrigger | undefined {
  const param = 'trigger.config.verify';
  const type = verify === undefined ? 'none' : specifiedName<VerifyType>(verify.type, 'WEBHOOK_VERIFY_TYPE');
  if (type === undefined) return faults.add(`${param}.type`, 'missing_field', 'is required.');
  const { header, secret } = verify ?? {};
  if (type === 'hmac_sha256') checkHeader(header, `${param}.header`, faults);
  else if (header !== undefined)
    faults.add(`${param}.header`, 'unknown_field', 'can only be set for the type hmac_sha256.');
  if (type === 'none' && secret !== undefined)
    faults.add(`${param}.secret`, 'unknown_field', 'does not go with the type none.');
  if (type !== 'none' && secret === undefined && before?.verify?.type !== type) {
    faults.add(`${param}.secret`, 'missing_field', 'is required.');
  }
  if (type === 'standard_webhooks' && secret !== undefined && !isWebhookSecret(withPrefix(secret))) {
    faults.add(`${param}.secret`, 'invalid_value', 'must be whsec_ and 24 to 64 bytes in base64.');
  }
  const trigger: StoredTrigger = {
    type: 'webhook',
    verify: { type, ...(header !== undefined && { header: header.toLowerCase() }) },
  };
  return { trigger, ...(type !== 'none' && secret !== undefined && { verifySecret: secret }) };
}

export const withPrefix = (secret: string): string => (secret.startsWith('whsec_') ? secret : `whsec_${secret}`);

function checkHeader(header: string | undefined, param: string, faults: Faults): void {
  if (header === undefined) faults.add(param, 'missing_field', 'is required with the type hmac_sha256.');
  else if (!HEADER_NAME.test(header)) faults.add(param, 'invalid_value', 'is not the name of a header.');
  else if (NO_SIGNATURE.has(header.toLowerCase())) {
    faults.add(param, 'invalid_value', 'contains a credential of this API, which automations do not receive.');
  }
}

/**
 * Returns the scopes that setting up a trigger requires, because its runs read the data of events. Of each `anyOf` one
 * scope is enough.
 */
export function triggerScopes({
  type,
  types = [],
}: StoredTrigger): { readonly anyOf: readonly string[]; readonly param: string }[] {
  if (type === 'event') {
    return types.map((one, index) => ({ anyOf: SCOPES_OF[one as EventType], param: `trigger.config.types[${index}]` }));
  }
  const scope = SCOPES[type];
  return scope === undefined ? [] : [{ anyOf: [scope], param: 'trigger' }];
}

const SCOPES: Partial<Record<TriggerType, string>> = {
  form_submission: 'form:read',
  row_created: 'content:read',
  row_updated: 'content:read',
  work_item_changed: 'work_item:read',
};
