/** Sends a request and returns the data of its answer. Rejects if the answer is an error. */
export type Ask = <T>(method: string, path: string, body?: unknown) => Promise<T>;

interface Made {
  readonly id: string;
}

/** The records that the actions of an automation change. */
export interface EffectScene {
  readonly workspaceId: string;
  readonly userId: string;
  readonly pageId: string;
  readonly tableId: string;
  readonly rowId: string;
  readonly channelId: string;
  readonly automationId: string;
}

/** The kinds of effects that a run has. Each happens once. */
export const EFFECTS = ['resource', 'text', 'row', 'cell', 'tag', 'comment', 'message', 'work item', 'notice'] as const;

const NAME = '{{trigger.input.name}}';

/**
 * Creates a workspace with an automation that has an action of each kind. The actions write `name`, which each run
 * gets.
 */
export async function createEffectScene(ask: Ask, userId: string, automation: object = {}): Promise<EffectScene> {
  const workspace_id = (await ask<Made>('POST', '/workspaces', { name: 'Effects' })).id;
  const resource = (body: object) => ask<Made>('POST', '/resources', { workspace_id, ...body });
  const page = await resource({ type: 'document', name: 'Page', content: 'Begin.' });
  const columns = [
    { name: 'Name', type: 'text' },
    { name: 'Last', type: 'text' },
  ];
  const table = await resource({ type: 'table', name: 'Table', columns, rows: [{ Name: 'first' }] });
  const content = await ask<{ rows: readonly Made[] }>('GET', `/resources/${table.id}/content`);
  const rowId = content.rows[0]?.id ?? '';
  const channel = await ask<Made>('POST', '/im/conversations', { type: 'channel', name: 'Effects', workspace_id });
  const actions = [
    { id: 'doc', type: 'create_resource', config: { type: 'document', name: NAME } },
    { type: 'update_content', config: { resource_id: page.id, mode: 'append', markdown: `\n\ntext of ${NAME}` } },
    { type: 'append_rows', config: { table_id: table.id, rows: [{ Name: NAME }] } },
    { type: 'update_row', config: { table_id: table.id, row_id: rowId, cells: { Last: NAME } } },
    { type: 'add_tag', config: { resource_id: '{{steps.doc.output.id}}', name: NAME } },
    { type: 'comment', config: { resource_id: page.id, body: `comment of ${NAME}` } },
    { type: 'send_message', config: { conversation_id: channel.id, text: `message of ${NAME}` } },
    { type: 'create_work_item', config: { title: NAME } },
    { type: 'notify', config: { user_ids: [userId], title: NAME, body: 'Done.' } },
  ];
  const body = { name: 'Effects', workspace_id, trigger: { type: 'manual' }, actions, ...automation };
  const { id: automationId } = await ask<Made>('POST', '/automations', body);
  const ids = { pageId: page.id, tableId: table.id, rowId, channelId: channel.id, automationId };
  return { workspaceId: workspace_id, userId, ...ids };
}

interface Listed<T> {
  readonly items: readonly T[];
}

/** Counts how often each effect of some runs has happened, by the name that the run was given. */
export async function countEffects(
  ask: Ask,
  scene: EffectScene,
  names: readonly string[],
): Promise<Map<string, Readonly<Record<string, number>>>> {
  const { workspaceId, pageId, tableId, rowId, channelId } = scene;
  const all = async <T>(path: string): Promise<readonly T[]> => {
    const items: T[] = [];
    for (let offset = 0; ; offset += 100) {
      const joint = path.includes('?') ? '&' : '?';
      const page = await ask<Listed<T>>('GET', `${path}${joint}limit=100&offset=${offset}`);
      items.push(...page.items);
      if (page.items.length < 100) return items;
    }
  };
  const resources = await all<{ name: string; tags: readonly string[] }>(`/workspaces/${workspaceId}/resources`);
  const tags = await all<{ name: string; usage_count: number }>(`/workspaces/${workspaceId}/tags`);
  const comments = await all<{ body: string }>(`/resources/${pageId}/comments`);
  const items = await all<{ title: string }>(`/work-items?workspace_id=${workspaceId}`);
  const text = (await ask<{ content: string }>('GET', `/resources/${pageId}/content`)).content;
  const { rows } = await ask<{ rows: readonly { id: string; cells: Record<string, string> }[] }>(
    ...(['GET', `/resources/${tableId}/content?limit=1000`] as const),
  );
  const messages: { text: string }[] = [];
  for (let after = 0; ; after += 100) {
    const path = `/im/conversations/${channelId}/messages?after_seq=${after}&limit=100`;
    const page = await ask<Listed<{ text: string }>>('GET', path);
    messages.push(...page.items);
    if (page.items.length < 100) break;
  }
  const notices = await all<{ title: string }>('/notifications');
  const count = <T>(list: readonly T[], fits: (one: T) => boolean) => list.filter(fits).length;
  const changed = rows.find(({ id }) => id === rowId);
  const last = Object.values(changed?.cells ?? {});
  return new Map(
    names.map((name) => [
      name,
      {
        resource: count(resources, (one) => one.name === name),
        text: text.split(/\n+/).filter((line) => line === `text of ${name}`).length,
        row: count(rows, ({ id, cells }) => id !== rowId && Object.values(cells).includes(name)),
        cell: Number(last.includes(name)),
        tag: count(tags, (one) => one.name === name && one.usage_count === 1),
        comment: count(comments, ({ body }) => body === `comment of ${name}`),
        message: count(messages, (one) => one.text === `message of ${name}`),
        'work item': count(items, ({ title }) => title === name),
        notice: count(notices, ({ title }) => title === name),
      },
    ]),
  );
}
