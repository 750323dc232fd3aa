import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
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

/** What an automation starts at. Which fields there are depends on the type. */
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

/** With whose rights something runs, and the scopes of the credential with which it was set up. */
export interface ActsAs {
  readonly userId: string;
  readonly userName: string;
  readonly credentialId: string;
  readonly scopes: readonly string[];
}

export interface StoredSecret {
  readonly name: string;
  /** Encrypted. */
  readonly sealed: string;
  readonly allowedHosts: readonly string[];
  /** Who has entered it: somebody else who changes an action that uses it enters it again. */
  readonly enteredBy: string;
}

/** What a run carries out; it is kept for each version that a run was triggered with. */
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
  /** The Org, or the workspace of a Personal tenant. */
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly description: string;
  readonly isActive: boolean;
  /** The version of the definition: rises when anything of it changes. */
  readonly definitionVersion: number;
  readonly definition: Definition;
  /** `definition.trigger.type`, for lookups. */
  readonly triggerType: TriggerType;
  readonly secrets: readonly StoredSecret[];
  /** Hash and encrypted form of the token in its webhook's URL. */
  readonly hookTokenHash?: string | undefined;
  readonly hookTokenSealed?: string | undefined;
  /** The secret that webhooks are signed with, encrypted. */
  readonly hookSecretSealed?: string | undefined;
  /** It was switched off because too many runs in a row had failed. */
  readonly disabledAt?: string | undefined;
  readonly createdBy: Actor;
  /** The person who has created it, by whatever credential. */
  readonly creatorId: string;
  /** Name and description as lists are searched by them. */
  readonly words: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const automationCollection: CollectionSpec<AutomationRecord> = {
  name: 'automations',
  indexes: [
    { fields: ['workspaceId', 'name'] },
    { fields: ['workspaceId', 'isActive', 'triggerType'] },
    { fields: ['hookTokenHash'], unique: true, sparse: true },
    { fields: ['tenant'] },
  ],
};

/** A definition as it was saved; `id` is `<automation>:<definition version>`. */
export interface DefinitionRecord extends StoredRecord {
  readonly tenant: string;
  readonly automationId: string;
  readonly definition: Definition;
  /** Set when a newer one takes its place: after the time for which its runs are kept. */
  readonly deleteAt?: string | undefined;
}

export const definitionCollection: CollectionSpec<DefinitionRecord> = {
  name: 'automation_definitions',
  indexes: [{ fields: ['automationId'] }, { fields: ['tenant'] }, { fields: ['deleteAt'] }],
  expires: 'deleteAt',
};

export const definitionId = (automationId: string, definitionVersion: number): string =>
  `${automationId}:${definitionVersion}`;
