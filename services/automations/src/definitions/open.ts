import { LimitReached } from '@commonplace/kit/errors';
import { createQuota, quotaCollection } from '@commonplace/kit/quota';
import type { Shared } from '../parts.js';
import { createDefinitionHandlers, type DefinitionHandlers } from './handlers.js';
import type { RunsOfAutomations } from './parts.js';
import { automationCollection, definitionCollection } from './records.js';

/** Opens the feature of automation definitions. `runs` is what it needs of the runs. */
export async function openDefinitions(
  { settings, store, memberships, guard, envelope, now, peers }: Shared,
  runs: RunsOfAutomations,
): Promise<DefinitionHandlers> {
  const automations = await store.collection(automationCollection);
  const quota = createQuota(await store.collection(quotaCollection), {
    name: 'automations',
    limit: settings.automations,
    count: (workspaceId) => automations.count({ workspaceId }),
    refuse: (limit) => LimitReached({ limit, what: 'automations of one workspace' }),
  });
  return createDefinitionHandlers({
    ...{ settings, memberships, guard, envelope, now, peers, automations, quota, runs },
    definitions: await store.collection(definitionCollection),
  });
}
