import type { World } from './world.js';

/** Fields that change without a write. */
const VOLATILE_FIELDS = new Set(['last_used_at', 'last_used_ip', 'last_active_at', 'took_ms']);

/**
 * Returns everything that the boss of a world can read as one text. If two such texts are equal, nothing was stored in
 * between.
 */
export async function everythingStored({ boss, closed, open }: World): Promise<string> {
  const { org } = closed;
  const paths = [
    '/orgs?limit=200',
    `/orgs/${org.id}/members?limit=200`,
    '/workspaces?limit=200',
    `/workspaces?limit=200&org_id=${org.id}`,
    '/notifications?limit=200',
    '/api-keys?limit=200',
    `/api-keys?limit=200&org_id=${org.id}`,
    ...[closed, open].flatMap(({ workspace, document }) => [
      `/workspaces/${workspace.id}/members?limit=200`,
      `/workspaces/${workspace.id}/resources?limit=200`,
      `/workspaces/${workspace.id}/trash?limit=200`,
      `/workspaces/${workspace.id}/pins?limit=200`,
      `/workspaces/${workspace.id}/connectors?limit=200`,
      `/workspaces/${workspace.id}/connections?limit=200`,
      `/workspaces/${workspace.id}/tags?limit=200`,
      `/resources/${document.id}/content`,
      `/resources/${document.id}/snapshots?limit=200`,
      `/resources/${document.id}/tags`,
      `/resources/${document.id}/comments?limit=200`,
      `/resources/${document.id}/permissions?limit=200`,
      `/resources/${document.id}/access-requests?limit=200`,
    ]),
  ];
  const answers = await Promise.all(paths.map(async (path) => (await boss.get(path)).data));
  return JSON.stringify(answers, (key, value: unknown) => (VOLATILE_FIELDS.has(key) ? null : value), 1);
}
