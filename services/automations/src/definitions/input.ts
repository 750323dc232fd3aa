import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '@commonplace/kit/auth';
import type { Faults } from '@commonplace/kit/errors';
import { specifiedName } from '@commonplace/platform/enums';
import type {
  CreateAutomationRequest,
  UpdateAutomationRequest,
} from '@commonplace/proto/automations/v1/automation_service.js';
import type { ActsAs } from '../acts-as.js';
import { rightsOfCaller } from '../acts-as.js';
import {
  type ActionChecks,
  checkActions,
  conditionPathFault,
  type KnownSecret,
  readActions,
  secretsOf,
} from './action-input.js';
import { ACTIONS } from './actions.js';
import { plainConditions, readConditions } from './condition-input.js';
import { insufficientScope, SecretReentryRequired } from './errors.js';
import type { AutomationRecord, Definition, StoredAction, StoredSecret } from './records.js';
import { type GivenSecret, readSecrets } from './secrets.js';
import { readTrigger, triggerScopes } from './trigger-input.js';

const DEFAULT_TIMEOUT_SECONDS = 600;
const DEFAULT_RETRY: Definition['retry'] = { maxAttempts: 2, backoffSeconds: 30 };

type Terms = Omit<Definition, 'actsAs'>;

/** The definition that results from a request, before anything is stored. */
export interface ReadDefinition {
  readonly terms: Terms;
  /** Absent if the request leaves the secrets unchanged. */
  readonly secrets?: readonly GivenSecret[] | undefined;
  /** The secret for verifying signatures of the webhook, if the request contains one. */
  readonly verifySecret?: string | undefined;
}

type Request = Pick<CreateAutomationRequest, 'trigger' | 'runAs' | 'concurrency' | 'retry' | 'timeoutSeconds'>;

/** Reads the definition of a new automation and adds its faults to `faults`. */
export function readNewDefinition(
  request: CreateAutomationRequest,
  guard: ActionChecks['guard'],
  faults: Faults,
): ReadDefinition {
  const secrets = readSecrets(request.secrets, [], faults);
  const given = request.trigger === undefined ? undefined : readTrigger(request.trigger, undefined, faults);
  const terms: Terms = {
    ...termsOf(request, undefined),
    trigger: given?.trigger ?? { type: 'manual' },
    conditions: readConditions(plainConditions(request.conditions), 'conditions', conditionPathFault, faults),
    actions: readActions(request.actions, { guard, secrets }, faults),
  };
  return { terms, secrets, verifySecret: given?.verifySecret };
}

/** Reads the definition after a change. Fields that the request does not name keep their values. */
export function readChangedDefinition(
  request: UpdateAutomationRequest,
  { definition: before, secrets: stored }: AutomationRecord,
  guard: ActionChecks['guard'],
  faults: Faults,
): ReadDefinition {
  const secrets = request.secrets === undefined ? undefined : readSecrets(request.secrets.items, stored, faults);
  const known: readonly KnownSecret[] = secrets ?? stored;
  const given = request.trigger === undefined ? undefined : readTrigger(request.trigger, before.trigger, faults);
  const terms: Terms = {
    ...termsOf(request, before),
    trigger: given?.trigger ?? before.trigger,
    conditions:
      request.conditions === undefined
        ? before.conditions
        : readConditions(plainConditions(request.conditions.items), 'conditions', conditionPathFault, faults),
    actions:
      request.actions === undefined
        ? before.actions
        : readActions(request.actions.items, { guard, secrets: known }, faults),
  };
  // Unchanged actions may use a secret that the request removes.
  if (request.actions === undefined && secrets !== undefined) checkActions(before.actions, { guard, secrets }, faults);
  return { terms, secrets, verifySecret: given?.verifySecret };
}

function termsOf({ runAs, concurrency, retry, timeoutSeconds }: Request, before: Terms | undefined) {
  const old = before?.retry ?? DEFAULT_RETRY;
  return {
    runAs: specifiedName<Terms['runAs']>(runAs, 'RUN_AS') ?? before?.runAs ?? 'creator',
    concurrency:
      specifiedName<Terms['concurrency']>(concurrency, 'AUTOMATION_CONCURRENCY') ?? before?.concurrency ?? 'queue',
    retry: {
      maxAttempts: retry?.maxAttempts ?? old.maxAttempts,
      backoffSeconds: retry?.backoffSeconds ?? old.backoffSeconds,
    },
    timeoutSeconds: timeoutSeconds ?? before?.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
  };
}

/**
 * Returns the person whose rights a definition runs with: whoever last changed the trigger, conditions, actions or
 * `run_as`. This keeps editors from using another person's rights. `isTaken`: the request replaces the secret of the
 * webhook, or switches on what was handed over to a person who has not looked at it.
 */
export function actsAsAfter(terms: Terms, before: Definition | undefined, isTaken: boolean, caller: Caller): ActsAs {
  const isSame =
    before !== undefined &&
    !isTaken &&
    (['trigger', 'conditions', 'actions', 'runAs'] as const).every((field) =>
      isDeepStrictEqual(terms[field], before[field]),
    );
  if (isSame) return before.actsAs;
  return rightsOfCaller(caller);
}

/** Throws `insufficient_scope` unless a credential has the scopes that the trigger and the actions need. */
export function requireScopes({ trigger, actions }: Terms, { credential }: Pick<Caller, 'credential'>): void {
  const held = new Set(credential.scopes);
  for (const { anyOf, param } of triggerScopes(trigger)) {
    if (!anyOf.some((scope) => held.has(scope))) throw insufficientScope(anyOf[0] ?? '', param);
  }
  for (const [index, { type }] of actions.entries()) {
    const { scope } = ACTIONS[type];
    if (scope !== null && !held.has(scope)) throw insufficientScope(scope, `actions[${index}]`);
  }
}

/**
 * Throws `secret_reentry_required` if the caller, without entering the secret again, changes an action that uses a
 * secret entered by another person, or adds hosts that such a secret may be sent to.
 */
export function requireSecretsEntered(
  actions: readonly StoredAction[],
  given: readonly GivenSecret[] | undefined,
  before: Pick<AutomationRecord, 'secrets' | 'definition'>,
  userId: string,
): void {
  const others = new Map(before.secrets.filter(({ enteredBy }) => enteredBy !== userId).map((one) => [one.name, one]));
  for (const { name, value } of given ?? []) if (value !== undefined) others.delete(name);
  const old = new Map(before.definition.actions.map((action) => [action.id, action]));
  const changed = actions.filter((action) => !isDeepStrictEqual(action, old.get(action.id)));
  const used = changed.flatMap((action) => [...secretsOf(action)]);
  const widened = (given ?? []).filter((one) => isWider(one, others.get(one.name))).map(({ name }) => name);
  const missing = [...new Set([...used, ...widened])].filter((name) => others.has(name)).sort();
  if (missing.length > 0) throw SecretReentryRequired({ names: missing.join(', ') });
}

function isWider({ allowedHosts }: GivenSecret, before: StoredSecret | undefined): boolean {
  return before !== undefined && allowedHosts.some((host) => !before.allowedHosts.includes(host));
}
