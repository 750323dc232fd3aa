import type { DomainEvent } from '@commonplace/kit/events';
import { type Draft, idsIn, textIn } from './draft.js';

/**
 * Returns the draft for the people who may approve a call that a run wants to make. Drafts of different calls are not
 * grouped.
 */
export function approvalRequested({ subject, data }: DomainEvent): Draft[] {
  const { notifyUserIds, orgId, workspaceId, title, resourceIds } = data;
  const to = idsIn(notifyUserIds);
  if (to.length === 0) return [];
  const place = textIn(workspaceId);
  return [
    {
      ...{ type: 'approval_requested', to, groupKey: `approval:${subject}`, target: { type: 'approval', id: subject } },
      orgId: textIn(orgId) || undefined,
      ...(place !== '' && { workspaceId: place }),
      facts: { message: textIn(title), resourceIds: idsIn(resourceIds) },
    },
  ];
}
