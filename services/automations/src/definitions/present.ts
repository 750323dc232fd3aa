import { actorMessage } from '@commonplace/platform/actors';
import { enumValue } from '@commonplace/platform/enums';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import {
  type Automation,
  AutomationConcurrency,
  AutomationRunStatus,
  AutomationStatus,
  RunAs,
  type Trigger,
  TriggerType,
  WebhookVerifyType,
  ActionType as WireAction,
} from '@commonplace/proto/automations/v1/automation.js';
import { conditionMessages } from './condition-input.js';
import type { RunSummary } from './parts.js';
import type { AutomationRecord, StoredTrigger } from './records.js';

/** The parts of an automation's message that depend on its runs and its reader. */
interface AutomationView {
  readonly summary: RunSummary | undefined;
  /** Present if the reader may change the automation. */
  readonly webhookUrl?: string | undefined;
}

export function automationMessage(automation: AutomationRecord, { summary, webhookUrl }: AutomationView): Automation {
  const { id, workspaceId, name, description, isActive, definition, secrets, createdAt, updatedAt, version } =
    automation;
  const { lastRun, failureCount = 0 } = summary ?? {};
  const { trigger, conditions, actions, runAs, concurrency, retry, timeoutSeconds, actsAs } = definition;
  return {
    ...{ id, workspaceId, name, description, isActive, timeoutSeconds, failureCount, webhookUrl },
    trigger: triggerMessage(trigger),
    conditions: conditionMessages(conditions),
    actions: actions.map(({ id: actionId, type, config, onError }) => ({
      id: actionId,
      type: enumValue(WireAction, type),
      config: Buffer.from(JSON.stringify(config)),
      onError,
    })),
    runAs: enumValue(RunAs, runAs),
    concurrency: enumValue(AutomationConcurrency, concurrency),
    retry: { ...retry },
    status: statusOf(automation, failureCount),
    lastRun: lastRun && { ...lastRun, status: enumValue(AutomationRunStatus, lastRun.status) },
    secrets: secrets.map((secret) => ({ name: secret.name, allowedHosts: [...secret.allowedHosts] })),
    actsAs: { type: ActorType.USER, id: actsAs.userId, name: actsAs.userName },
    createdBy: actorMessage(automation.createdBy),
    ...{ createdAt, updatedAt, version },
  };
}

/** Skipped and canceled runs do not change the status, since they do not show whether the automation works. */
function statusOf({ disabledAt }: AutomationRecord, failureCount: number): AutomationStatus {
  if (disabledAt !== undefined) return AutomationStatus.DISABLED;
  return failureCount > 0 ? AutomationStatus.FAILING : AutomationStatus.OK;
}

function triggerMessage({ type, verify, types = [], columns = [], fields = [], ...rest }: StoredTrigger): Trigger {
  const { parentId, resourceType, tagId, formId, tableId } = rest;
  return {
    type: enumValue(TriggerType, type),
    config: {
      ...{ parentId, resourceType, tagId, formId, tableId },
      ...{ types: [...types], columns: [...columns], fields: [...fields] },
      verify: verify && { type: enumValue(WebhookVerifyType, verify.type), header: verify.header },
    },
  };
}
