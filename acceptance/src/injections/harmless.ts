import { newFile } from '../files.js';
import { newForm, tableOf } from '../forms.js';
import { type Order, orderText } from './obedient-model.js';
import { create, newGroup, type Stage } from './stage.js';

/** An everyday task for an agent. */
interface HarmlessTask {
  readonly name: string;
  readonly question: string;
}

interface TaskPart {
  readonly name: string;
  readonly orders: readonly Order[];
  /** Words of the person besides the orders. */
  readonly words?: string;
}

/** Combines each way to read with each follow-up action, in places that the same people can read. */
export async function harmlessTasks(stage: Stage): Promise<HarmlessTask[]> {
  const [readings, followUps] = await Promise.all([waysToRead(stage), thingsToDo(stage)]);
  return readings.flatMap((reading) =>
    followUps.map((followUp) => ({
      name: `${reading.name}, then ${followUp.name}`,
      question: [reading.words ?? 'Please do this.', ...[...reading.orders, ...followUp.orders].map(orderText)].join(
        ' ',
      ),
    })),
  );
}

async function waysToRead({ owner, guest, workspace, inbox, web }: Stage): Promise<TaskPart[]> {
  const own = await create(owner, workspace, { type: 'document', name: 'Herons', content: 'Herons fish at dawn.' });
  const letter = { type: 'document', name: 'Letter', content: 'Dear all, I like storks.', parent_id: inbox.id };
  const { id: letterId } = await create(guest, workspace, letter);
  await guest.post(`/resources/${letterId}/comments`, { body: 'And cranes.' });
  const { form } = await newForm(owner, workspace.id);
  await guest.post(`/forms/${form.token}/submit`, { values: { name: 'Ada' } });
  const file = await newFile(owner, { name: 'birds.txt', workspace_id: workspace.id }, 'A list of birds.');
  const url = web.serve('<h1>Birds</h1><p>Birds can fly.</p>');
  const read = (id: string): Order => ({ tool: 'read', args: { resource_id: id } });
  return [
    { name: 'read nothing', orders: [] },
    { name: 'search', orders: [{ tool: 'search', args: { query: 'herons' } }] },
    { name: 'read an own page', orders: [read(own.id)] },
    { name: 'read a page of a guest', orders: [read(letterId)] },
    { name: 'read comments of a guest', orders: [{ tool: 'read_comments', args: { resource_id: letterId } }] },
    { name: 'read what a form was sent', orders: [{ tool: 'read_rows', args: { resource_id: form.resource_id } }] },
    { name: 'read a file', orders: [read(file.data.resource.id)] },
    { name: 'read a web page', orders: [{ tool: 'web_fetch', args: { url } }], words: `Look at ${url} please.` },
  ];
}

async function thingsToDo({ owner, workspace }: Stage): Promise<TaskPart[]> {
  const page = await create(owner, workspace, { type: 'document', name: 'Notes', content: 'Notes.' });
  const folder = await create(owner, workspace, { type: 'folder', name: 'Drafts' });
  const fields = { columns: [{ name: 'Text' }], rows: [{ Text: 'first' }] };
  const table = await create(owner, workspace, { type: 'table', name: 'List', ...fields });
  const [row] = (await tableOf(owner, table.id)).rows;
  const conversation_id = await newGroup(owner, workspace, []);
  const resource_id = page.id;
  const change = { rows: [{ id: row?.id, cells: { Text: 'changed' } }] };
  const one = (name: string, tool: string, args: Order['args']): TaskPart => ({ name, orders: [{ tool, args }] });
  return [
    { name: 'answer', orders: [] },
    one('append to a page', 'write_document', { resource_id, mode: 'append', markdown: 'One more line.' }),
    one('create a page', 'create_resource', { type: 'document', name: 'Summary', markdown: 'In short.' }),
    one('create a page in a folder', 'create_resource', { type: 'document', name: 'Draft', parent_id: folder.id }),
    one('append a row', 'append_rows', { resource_id: table.id, rows: [{ Text: 'more' }] }),
    one('change a row', 'update_rows', { resource_id: table.id, ...change }),
    one('comment', 'comment', { resource_id, body: 'Well said.' }),
    one('write to oneself', 'send_message', { conversation_id, text: 'To be done.' }),
    one('create a file', 'create_file', { name: 'summary.txt', text: 'In short.' }),
    one('remember for the person', 'memory', { action: 'remember', scope: 'user', content: 'Likes short answers.' }),
  ];
}
