import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { ActsAs } from '../acts-as.js';
import type { StoredCondition } from '../domain/condition.js';

export type { ConditionOp, SimpleCondition, StoredCondition } from '../domain/condition.js';

export type TriggerType =
  | 'manual'
  | 'schedule'
  | 'webhook'
  | 'event'
  | 'form_submission'
  | 'row_created'
  | 'row_updated'
  | 'work_item_changed';

export type VerifyType = 'none' | 'standard_webhooks' | 'github' | 'hmac_sha256';

/** The trigger of an automation. Which fields are present depends on the type. */
export interface StoredTrigger {
  readonly type: TriggerType;
  readonly types?: readonly string[] | undefined;
  readonly parentId?: string | undefined;
  readonly resourceType?: string | undefined;
  readonly tagId?: string | undefined;
  readonly formId?: string | undefined;
  readonly tableId?: string | undefined;
  readonly columns?: readonly string[] | undefined;
  readonly fields?: readonly string[] | undefined;
  readonly verify?: { readonly type: VerifyType; readonly header?: string | undefined } | undefined;
}

export type ActionType =
  | ('create_resource' | 'update_content' | 'append_rows' | 'update_row' | 'add_tag' | 'comment' | 'send_message')
  | ('notify' | 'create_work_item' | 'run_agent' | 'http_request' | 'search' | 'condition' | 'delay' | 'stop');

export interface StoredAction {
  readonly id: string;
  readonly type: ActionType;
  readonly config: Readonly<Record<string, unknown>>;
  /** `stop`, `continue` or `goto:<id>`. */
  readonly onError: string;
}

export interface StoredSecret {
  readonly name: string;
  /** Encrypted. */
  readonly sealed: string;
  readonly allowedHosts: readonly string[];
  /** The person who entered the value. Another person who changes an action that uses it has to enter it again. */
  readonly enteredBy: string;
}

/** The part of an automation that its runs execute. Each version that a run was triggered with is kept. */
export interface Definition {
  readonly trigger: StoredTrigger;
  readonly conditions: readonly StoredCondition[];
  readonly actions: readonly StoredAction[];
  readonly runAs: 'creator' | 'triggering_user';
  readonly concurrency: 'allow' | 'skip' | 'queue';
  readonly retry: { readonly maxAttempts: number; readonly backoffSeconds: number };
  readonly timeoutSeconds: number;
  readonly actsAs: ActsAs;
}

export interface AutomationRecord extends StoredRecord {
  /** The id of the Org, or of the workspace for a Personal tenant. */
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId: string;
  readonly name: string;
  /** The name, folded for sorting. */
  readonly nameFold: string;
  readonly description: string;
  readonly isActive: boolean;
  /** The version of the definition, which increases with each change of it. */
  readonly definitionVersion: number;
  readonly definition: Definition;
  /** A copy of `definition.trigger.type`, for lookups. */
  readonly triggerType: TriggerType;
  readonly secrets: readonly StoredSecret[];
  /** The hash and the encrypted form of the token in the webhook's URL. */
  readonly hookTokenHash?: string | undefined;
  readonly hookTokenSealed?: string | undefined;
  /** The encrypted secret that verifies signatures of webhooks. */
  readonly hookSecretSealed?: string | undefined;
  /** When the system switched the automation off because too many runs in a row had failed. */
  readonly disabledAt?: string | undefined;
  readonly createdBy: Actor;
  /** The person who created the automation, also if an agent or a key acted for them. */
  readonly creatorId: string;
  /** Name and description, folded for searches of lists. */
  readonly words: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Who or what made the last change; absent if that was an earlier version. */
  readonly updatedBy?: Actor | undefined;
}

export const automationCollection: CollectionSpec<AutomationRecord> = {
  name: 'automations',
  indexes: [
    { fields: ['workspaceId', 'nameFold'] },
    { fields: ['workspaceId', 'isActive', 'triggerType'] },
    { fields: ['hookTokenHash'], unique: true, sparse: true },
    { fields: ['tenant'] },
  ],
};

/** A saved version of a definition; `id` is `<automation>:<definition version>`. */
export interface DefinitionRecord extends StoredRecord {
  readonly tenant: string;
  readonly automationId: string;
  readonly definition: Definition;
  /** Set when a newer version replaces it, to a time when its runs have expired. */
  readonly deleteAt?: string | undefined;
}

export const definitionCollection: CollectionSpec<DefinitionRecord> = {
  name: 'automation_definitions',
  indexes: [{ fields: ['automationId'] }, { fields: ['tenant'] }, { fields: ['deleteAt'] }],
  expires: 'deleteAt',
};

export const definitionId = (automationId: string, definitionVersion: number): string =>
  `${automationId}:${definitionVersion}`;
