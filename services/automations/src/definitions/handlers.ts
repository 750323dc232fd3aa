import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { findBoundedPage, namedSort, timesWithin, type Where } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import { specifiedName } from '@commonplace/platform/enums';
import type { Automation } from '@commonplace/proto/automations/v1/automation.js';
import type {
  AutomationService,
  ListAutomationsRequest,
} from '@commonplace/proto/automations/v1/automation_service.js';
import { editPlace, readableWorkspaces, readPlace } from '../policy.js';
import { manages, openAutomation, seeAutomation } from './access.js';
import { changeAutomation, createAutomation, removeAutomation } from './commands.js';
import { webhookUrl } from './hook-token.js';
import type { DefinitionParts } from './parts.js';
import { automationMessage } from './present.js';
import type { AutomationRecord, TriggerType } from './records.js';

/** The handlers for definitions of automations. Those for runs implement the rest of the same contract. */
export type DefinitionHandlers = Pick<
  Handlers<AutomationService>,
  'listAutomations' | 'createAutomation' | 'getAutomation' | 'updateAutomation' | 'deleteAutomation'
>;

/** Options for presenting an automation in the answer of the call that has changed it. */
interface PresentOptions {
  readonly once?: CallContext;
  /** Whether this call resets the number of consecutive failures when it commits. */
  readonly isForgiven?: boolean;
}

export function createDefinitionHandlers(parts: DefinitionParts): DefinitionHandlers {
  /** Converts an automation into a message of the API. A stored answer that is replayed omits the webhook's URL. */
  async function present(automation: AutomationRecord, isManager: boolean, { once, isForgiven }: PresentOptions = {}) {
    const summary = (await parts.runs.summaries([automation.id])).get(automation.id);
    const url = isManager ? webhookUrl(parts.envelope, parts.settings.publicUrl, automation) : undefined;
    if (url !== undefined) once?.once('webhookUrl');
    return automationMessage(automation, {
      summary: isForgiven && summary !== undefined ? { ...summary, failureCount: 0 } : summary,
      webhookUrl: url,
    });
  }

  return {
    async listAutomations(request, context) {
      const where = await visible(parts, request, context);
      const { workspaces } = await parts.memberships.of(context.caller.userId, context.onward);
      const isManager = (automation: AutomationRecord) => {
        const place = workspaces.get(automation.workspaceId);
        return place !== undefined && manages(place, automation, context.caller.userId);
      };
      return findBoundedPage(
        {
          ...{ collection: parts.automations, where, sort: namedSort(request.sort) },
          present: (automations) => presentAll(parts, automations, isManager),
          bytesOf: ({ actions }) => actions.reduce((sum, { config }) => sum + config.length, 0),
        },
        request.page,
      );
    },

    async createAutomation(request, context) {
      const place = await editPlace(parts, request.workspaceId, context, 'workspace_id');
      return present(await createAutomation(parts, place, request, context), true, { once: context });
    },

    async getAutomation({ automationId }, context) {
      const { automation, isManager } = await seeAutomation(parts, automationId, context);
      return present(automation, isManager);
    },

    async updateAutomation(request, context) {
      const { automation: before, place } = await openAutomation(parts, request.automationId, context);
      const after = await changeAutomation(parts, before, place, request, context);
      return present(after, true, { once: context, isForgiven: after.isActive && !before.isActive });
    },

    async deleteAutomation({ automationId }, context) {
      const { automation } = await openAutomation(parts, automationId, context);
      requireVersion(context, automation.version, automation);
      await removeAutomation(parts, automation, context);
      return { id: automationId, deleted: true };
    },
  };
}

/** Yields the automations of a list, with the URLs of webhooks for those who may change them. */
async function* presentAll(
  parts: DefinitionParts,
  automations: readonly AutomationRecord[],
  isManager: (automation: AutomationRecord) => boolean,
): AsyncGenerator<Automation> {
  const summaries = await parts.runs.summaries(automations.map(({ id }) => id));
  for (const automation of automations) {
    const url = isManager(automation) ? webhookUrl(parts.envelope, parts.settings.publicUrl, automation) : undefined;
    yield automationMessage(automation, { summary: summaries.get(automation.id), webhookUrl: url });
  }
}

/** Returns the filter of a list, limited to workspaces that the caller can read. */
async function visible(
  parts: DefinitionParts,
  request: ListAutomationsRequest,
  context: CallContext,
): Promise<Where<AutomationRecord>> {
  const { workspaceId, isActive, triggerType, q, createdBy } = request;
  if (workspaceId !== undefined) await readPlace(parts, workspaceId, context, 'workspace_id');
  const readable = workspaceId ?? { in: await readableWorkspaces(parts, context) };
  const type = specifiedName<TriggerType>(triggerType, 'TRIGGER_TYPE');
  return {
    workspaceId: readable,
    ...(isActive !== undefined && { isActive }),
    ...(type !== undefined && { triggerType: type }),
    ...(q !== '' && { words: { substring: foldName(q) } }),
    ...(createdBy !== undefined && { creatorId: createdBy }),
    ...timesWithin(request),
  };
}
