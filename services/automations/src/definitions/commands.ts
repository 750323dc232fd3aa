import { isDeepStrictEqual } from 'node:util';
import { createFaults, invalidFields, NoUpdateField } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type {
  CreateAutomationRequest,
  UpdateAutomationRequest,
} from '@commonplace/proto/automations/v1/automation_service.js';
import { isHandedOver } from '../acts-as.js';
import type { Place } from '../policy.js';
import { mintHookToken } from './hook-token.js';
import {
  actsAsAfter,
  type ReadDefinition,
  readChangedDefinition,
  readNewDefinition,
  requireScopes,
  requireSecretsEntered,
} from './input.js';
import type { DefinitionParts } from './parts.js';
import type { AutomationRecord, StoredSecret } from './records.js';
import { hookSecretOwner, secretOwner } from './secrets.js';
import { requireTargets } from './targets.js';
import { retireDefinition, writeDefinition } from './versions.js';

/** Creates an automation in a workspace. The caller has checked that the person may edit it. */
export async function createAutomation(
  parts: DefinitionParts,
  place: Place,
  request: CreateAutomationRequest,
  context: CallContext,
): Promise<AutomationRecord> {
  const faults = createFaults();
  const read = readNewDefinition(request, await parts.guard.of(place.tenant), faults);
  if (faults.list.length > 0) throw invalidFields(faults.list);
  requireScopes(read.terms, context.caller);
  await requireTargets(parts, read.terms.trigger, { before: undefined, ...place }, context);
  await parts.quota.reserve(context.work, place.workspaceId);
  const { tenant, orgId, workspaceId } = place;
  const { name, description, isActive = true } = request;
  const owner = { id: newId(), tenant };
  const at = new Date(parts.now()).toISOString();
  const definition = { ...read.terms, actsAs: actsAsAfter(read.terms, undefined, false, context.caller) };
  const automation = context.work.insert(parts.automations, {
    ...{ ...owner, orgId, workspaceId, name, description, isActive, ...foldedFields({ name, description }) },
    ...{ definition, definitionVersion: 1, triggerType: definition.trigger.type },
    ...{
      secrets: sealSecrets(parts, owner, read, [], context.caller.userId),
      ...hookFields(parts, owner, read, undefined),
    },
    ...{
      createdBy: context.actor,
      creatorId: context.caller.userId,
      createdAt: at,
      updatedAt: at,
      updatedBy: context.actor,
    },
  });
  writeDefinition(parts, automation, context.work);
  publishUpdate(automation, context);
  return automation;
}

/** Changes an automation completely or, if anything is invalid, not at all. */
export async function changeAutomation(
  parts: DefinitionParts,
  before: AutomationRecord,
  place: Place,
  request: UpdateAutomationRequest,
  context: CallContext,
): Promise<AutomationRecord> {
  const paths = (request.updateMask ?? []).map((path) => path.split('.')[0]);
  if (paths.filter((path) => path !== 'automation_id').length === 0) throw NoUpdateField();
  const faults = createFaults();
  const read = readChangedDefinition(request, before, await parts.guard.of(before.tenant), faults);
  if (request.rotateWebhookToken && read.terms.trigger.type !== 'webhook') {
    faults.add('rotate_webhook_token', 'invalid_value', 'can only be sent for a webhook trigger.');
  }
  if (faults.list.length > 0) throw invalidFields(faults.list);
  requireVersion(context, before.version, before);
  const { caller, work } = context;
  const isTaken = isStarted(request, before) && isHandedOver(before.definition.actsAs);
  const actsAs = actsAsAfter(read.terms, before.definition, isTaken || read.verifySecret !== undefined, caller);
  if (actsAs !== before.definition.actsAs) requireScopes(read.terms, caller);
  requireSecretsEntered(read.terms.actions, read.secrets, before, caller.userId);
  await requireTargets(parts, read.terms.trigger, { before: before.definition.trigger, ...place }, context);
  const definition = { ...read.terms, actsAs };
  const isNew = !isDeepStrictEqual(definition, before.definition);
  const { name = before.name, isActive = before.isActive } = request;
  const description = paths.includes('description') ? (request.description ?? '') : before.description;
  const automation = replaceChanged(work, parts.automations, before, {
    ...before,
    ...{ name, description, isActive, ...foldedFields({ name, description }) },
    ...{ definition, triggerType: definition.trigger.type },
    definitionVersion: before.definitionVersion + Number(isNew),
    ...(isActive && { disabledAt: undefined }),
    ...(read.secrets !== undefined && { secrets: sealSecrets(parts, before, read, before.secrets, caller.userId) }),
    ...hookFields(parts, before, read, before),
    ...(request.rotateWebhookToken && mintHookToken(parts.envelope, before)),
    ...{ updatedAt: new Date(parts.now()).toISOString(), updatedBy: context.actor },
  });
  if (isNew) {
    await retireDefinition(parts, before, work);
    writeDefinition(parts, automation, work);
  }
  if (!isActive && before.isActive) await parts.runs.skipQueued(work, before);
  if (isActive && !before.isActive) await parts.runs.resetFailures(work, before);
  if (isNew || (isActive && !before.isActive)) publishUpdate(automation, context);
  return automation;
}

const isStarted = ({ isActive }: UpdateAutomationRequest, before: AutomationRecord): boolean =>
  isActive === true && !before.isActive;

function publishUpdate({ id, tenant, workspaceId }: AutomationRecord, context: CallContext): void {
  context.work.publish(context.event('automation.updated', id, { workspaceId }, tenant));
}

/** Deletes an automation. Runs that have begun continue with the definition that they were triggered with. */
export async function removeAutomation(
  parts: DefinitionParts,
  automation: AutomationRecord,
  context: Pick<CallContext, 'work' | 'event'>,
): Promise<void> {
  const { id, tenant, workspaceId } = automation;
  await parts.runs.skipQueued(context.work, automation);
  await retireDefinition(parts, automation, context.work);
  context.work.remove(parts.automations, automation);
  const data = { automationId: id, workspaceId };
  context.work.publish(context.event('automation.deleted', id, data, tenant));
}

/** Returns the fields that lists are sorted by and searched in. */
const foldedFields = ({ name, description }: Pick<AutomationRecord, 'name' | 'description'>) => ({
  nameFold: foldName(name),
  words: foldName(`${name}\n${description}`),
});

// ---- secrets

type Owner = { readonly id: string; readonly tenant: string };

function sealSecrets(
  { envelope }: Pick<DefinitionParts, 'envelope'>,
  owner: Owner,
  { secrets = [] }: ReadDefinition,
  before: readonly StoredSecret[],
  enteredBy: string,
): StoredSecret[] {
  return secrets.flatMap(({ name, value, allowedHosts }) => {
    if (value !== undefined)
      return { name, allowedHosts, enteredBy, sealed: envelope.seal(value, secretOwner(owner, name)) };
    const stored = before.find((one) => one.name === name);
    return stored === undefined ? [] : { ...stored, allowedHosts };
  });
}

type HookFields = Pick<AutomationRecord, 'hookTokenHash' | 'hookTokenSealed' | 'hookSecretSealed'>;

/** Returns the token and the secret of the webhook. Both are removed if the trigger is no longer a webhook. */
function hookFields(
  { envelope }: Pick<DefinitionParts, 'envelope'>,
  owner: Owner,
  { terms: { trigger }, verifySecret }: ReadDefinition,
  before: HookFields | undefined,
): HookFields {
  if (trigger.type !== 'webhook') {
    return { hookTokenHash: undefined, hookTokenSealed: undefined, hookSecretSealed: undefined };
  }
  const { hookTokenHash, hookTokenSealed, hookSecretSealed } = before ?? {};
  const token = hookTokenHash === undefined ? mintHookToken(envelope, owner) : { hookTokenHash, hookTokenSealed };
  if (trigger.verify === undefined || trigger.verify.type === 'none') return { ...token, hookSecretSealed: undefined };
  if (verifySecret === undefined) return { ...token, hookSecretSealed };
  return { ...token, hookSecretSealed: envelope.seal(verifySecret, hookSecretOwner(owner)) };
}
