import { createQuota, quotaCollection } from '@commonplace/kit/quota';
import type { Store } from '@commonplace/kit/store';
import { TooManyImports } from './errors.js';
import type { ImportParts, ImportQuotas } from './parts.js';

export async function openImportQuotas(
  store: Store,
  { imports, settings }: Pick<ImportParts, 'imports' | 'settings'>,
): Promise<ImportQuotas> {
  const records = await store.collection(quotaCollection);
  return {
    waiting: createQuota(records, {
      name: 'imports_waiting',
      limit: settings.importsWaiting,
      count: (workspaceId) => imports.count({ workspaceId, status: { in: ['queued', 'pending_upload'] } }),
      refuse: (limit) => TooManyImports({ limit, setting: 'COMMONPLACE_IMPORTS_WAITING' }),
    }),
    running: createQuota(records, {
      name: 'imports_running',
      limit: settings.importsRunning,
      count: (workspaceId) => imports.count({ workspaceId, status: 'running' }),
      refuse: (limit) => TooManyImports({ limit, setting: 'COMMONPLACE_IMPORTS_RUNNING' }),
    }),
  };
}
