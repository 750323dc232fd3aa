import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import type { EventDraft } from '@commonplace/platform/public-events';
import type { ActsAs } from '../acts-as.js';
import type { Definition } from '../definitions/records.js';
import { isLoop } from '../domain/chain.js';
import type { Taint } from '../runs/records.js';
import type { RunRequest } from '../runs/start.js';
import type { TriggerEvent } from './trigger-event.js';

/** Returns the id of the run that an event starts, which is the same however often the event arrives. */
const runIdOf = (automationId: string, eventId: string): string =>
  derivedId(`automation-run:${automationId}:${eventId}`);

/**
 * Returns the rights of a run that an event starts: those of the person who caused the event if `run_as` says so,
 * otherwise those of the automation.
 */
export function actsAsOf({ runAs, actsAs }: Pick<Definition, 'runAs' | 'actsAs'>, { source }: TriggerEvent): ActsAs {
  const { actor, credential } = source;
  // Keys, agents and automations do not lend their person's rights to another automation.
  if (runAs !== 'triggering_user' || actor?.type !== 'user') return actsAs;
  const credentialId = credential?.id ?? '';
  return { ...actsAs, userId: actor.id, userName: actor.name, credentialId };
}

/**
 * Returns the request for the run that an event starts. `data` is what the person whose rights it has may see of the
 * event.
 */
export function requestOf(
  automationId: string,
  definition: Definition,
  event: TriggerEvent,
  data: EventDraft['data'],
  isGuest: boolean,
): RunRequest {
  const { chain } = event;
  return {
    id: runIdOf(automationId, event.id),
    trigger: { type: definition.trigger.type, eventId: event.id, by: causeOf(event) },
    input: { event: inputOf(event, data) },
    taints: taintsOf(event, isGuest),
    chain,
    actsAs: actsAsOf(definition, event),
    ...(isLoop(chain, automationId) && { skipReason: 'loop' }),
  };
}

/** Returns the event for templates: as clients see it, with the fields that the run reads its data by. */
function inputOf({ id, type, time, workspaceId, chain, source }: TriggerEvent, data: EventDraft['data']) {
  const { type: actorType, id: actorId } = causeOf({ source });
  const rowIds = Array.isArray(data.row_ids) ? data.row_ids : [];
  const more = {
    ...(rowIds.length > 0 && { row_id: rowIds[0] }),
    ...(type === 'form.submitted' && source.data.valuesOmitted !== true && { values: source.data.values ?? {} }),
  };
  const actor = { type: actorType, id: actorId };
  return { id, type, timestamp: time, workspace_id: workspaceId, actor, data: { ...data, ...more }, chain };
}

function causeOf({ source: { actor, source } }: Pick<TriggerEvent, 'source'>): Actor {
  if (actor === undefined) return { type: 'system', id: source.slice(1), name: source.slice(1) };
  const { id, name } = actor;
  return { type: actor.type as Actor['type'], id, name };
}

/**
 * Returns the taints of an event: the sources of its content that are not members of the workspace with at least the
 * role commenter.
 */
function taintsOf(event: TriggerEvent, isGuest: boolean): Taint[] {
  const { type, data, source } = event;
  const { id, name, type: actorType } = causeOf(event);
  const formId = type === 'form.submitted' ? data.form_id : source.data.formId;
  if (typeof formId === 'string') {
    const title = source.data.formTitle;
    return [{ type: 'form', id: formId, name: typeof title === 'string' ? title : 'Form' }];
  }
  if (actorType === 'import' || type === 'import.finished') return [{ type: 'import', id, name }];
  if (actorType === 'agent' || actorType === 'automation') return [{ type: 'agent', id, name }];
  return isGuest ? [{ type: 'guest', id, name }] : [];
}
