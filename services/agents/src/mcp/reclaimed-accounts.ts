import type { EventBus, Subscription } from '@commonplace/kit/events';
import { removeAll } from '@commonplace/kit/store';
import { consume } from '@commonplace/platform/events';
import type { McpParts } from './parts.js';

/**
 * Deletes the grants of an account that were given before the owner of its address took it over: they may be to
 * somebody else's accounts in other systems.
 */
export function watchReclaimedAccounts(
  { store, mcpGrants }: Pick<McpParts, 'store' | 'mcpGrants'>,
  bus: EventBus,
): Promise<Subscription> {
  const spec = { consumer: 'agents.reclaimed-accounts', events: ['identity.user.reclaimed'] } as const;
  return consume(bus, spec, async ({ data: { userId }, time }) => {
    if (userId === '') return;
    const before = { or: [{ grantedAt: { exists: false } }, { grantedAt: { lte: time } }] };
    await removeAll(store, mcpGrants, { userId, ...before });
  });
}
