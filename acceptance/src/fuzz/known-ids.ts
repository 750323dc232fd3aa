import { api } from '../client.js';
import { newKey } from '../people.js';
import type { World } from '../world.js';

/** Ids of existing records by the names of the path parameters that accept them. */
type KnownIds = Readonly<Record<string, readonly string[]>>;

/** Fills a world with a record for each kind of id, and creates a key with every scope in one of its tenants. */
export async function knownIds(world: World, tenant: 'org' | 'personal'): Promise<{ key: string; ids: KnownIds }> {
  const { boss, closed, open, personal, everyScope, system } = world;
  const place = tenant === 'org' ? closed : personal;
  const { key } = await newKey(boss, everyScope, tenant === 'org' ? { org_id: place.org.id } : {});
  const [table, artifact, form, shared, published] = [
    await place.newTable(),
    await place.newArtifact(),
    await place.newForm(),
    await place.newShared(),
    await place.newPublished(),
  ];
  const other = await place.newDocument();
  const channel = await place.channel();
  const hook = await place.newAutomation({ type: 'webhook' });
  const automationRun = await place.automationRun();
  const snapshot = await place.newSnapshot(other);
  const by = api(system, key);
  const members = await by.get<{ items: { id: string }[] }>(`/workspaces/${place.workspace.id}/members`);
  const template = { name: 'Template', source_workspace_id: place.workspace.id };
  const { data: made } = await by.post<{ id: string }>('/workspace-templates', template);
  const resources = [place.document, place.folder, place.file, table, artifact, shared, published, other];
  return {
    key,
    ids: {
      workspace_id: [place.workspace.id, ...(tenant === 'org' ? [open.workspace.id] : [])],
      org_id: [place.org.id],
      resource_id: [...resources.map(({ id }) => id), form.resourceId, (await place.newTrash()).id],
      comment_id: [place.comment.id, (await place.newComment()).id],
      tag_id: [place.tag.id, (await place.newTag()).id],
      snapshot_id: [snapshot.id],
      import_id: [(await place.import()).id, (await place.newImport()).id],
      connector_id: [(await place.newConnector()).id],
      key_id: [(await place.newOrgKey()).id],
      member_id: [place.extraOrgMember.id, ...members.data.items.map(({ id }) => id)],
      request_id: [await place.newAccessRequest()],
      template_id: [made.id],
      session_id: [(await place.chat()).id],
      conversation_id: [channel.id],
      message_id: [channel.messageId],
      automation_id: [(await place.automation()).id, hook.id],
      run_id: [(await place.run()).id, automationRun.split('/').at(-1) ?? ''],
      token: [form.token, hook.webhook_url?.split('/').at(-1) ?? ''],
      webhook_token: [form.webhookToken],
    },
  };
}

/** Returns the configuration of Schemathesis. Four of five ids in paths are ids of existing records. */
export function tomlOf(ids: KnownIds, hooks: string): string {
  const names = Object.keys(ids).filter((name) => (ids[name] as readonly string[]).length > 0);
  const lists = names.map((name) => `[dictionaries.${name}]\nvalues = ${JSON.stringify(ids[name])}`);
  const uses = names.map((name) => `"path.${name}" = { dictionary = "${name}", probability = 0.8 }`);
  return [`hooks = ${JSON.stringify(hooks)}`, ...lists, '[parameters]', ...uses, ''].join('\n');
}
