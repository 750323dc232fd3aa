import type { DomainEvent } from '@commonplace/kit/events';
import { type Draft, textIn } from './draft.js';

/** Returns the draft for the person whom a proposed memory concerns. Proposals of one agent are grouped. */
export function memoryProposed({ subject, data, actor }: DomainEvent): Draft[] {
  const userId = textIn(data.userId);
  if (userId === '') return [];
  const place = textIn(data.workspaceId);
  return [
    {
      ...{ type: 'memory_proposed', to: [userId], groupKey: `memory:${actor?.id ?? ''}` },
      target: { type: 'memory', id: subject },
      orgId: textIn(data.orgId) || undefined,
      ...(place !== '' && { workspaceId: place }),
      facts: {},
    },
  ];
}
