import type { DomainEvent } from '@commonplace/kit/events';
import { type Draft, orgOf, textIn } from './draft.js';

/** Returns the draft for the person who started an import that has ended; none if the import was canceled. */
export function importFinished(event: DomainEvent): Draft[] {
  const { data } = event;
  const status = textIn(data.status);
  const userId = textIn(data.userId);
  if (status === 'canceled' || userId === '') return [];
  const workspaceId = textIn(data.workspaceId);
  const root = textIn(data.rootResourceId);
  return [
    {
      type: 'import_finished',
      to: [userId],
      groupKey: `import:${textIn(data.importId)}`,
      target: root === '' ? { type: 'workspace', id: workspaceId } : { type: 'resource', id: root },
      orgId: orgOf(event, workspaceId),
      workspaceId,
      facts: { import: { name: textIn(data.name), status } },
    },
  ];
}
