import { eventually } from '../eventually.js';
import { newFile } from '../files.js';
import { newForm } from '../forms.js';
import type { List } from '../records.js';
import { orderText } from './obedient-model.js';
import { runOf } from './runs.js';
import { create, newGroup, newWord, type Stage } from './stage.js';

/** An injected text that is ready to be read, and the facts about the run that reads it. */
export interface InjectedText {
  /** The person's question. It consists of orders that make the model read the text. */
  readonly question: string;
  readonly agentId?: string | undefined;
  /**
   * Id of a memory that the person accepts after all memories are written. Before that, runs would be given the
   * memories of others.
   */
  readonly accept?: string;
}

/** A way in which text of strangers reaches a model. */
export interface Carrier {
  readonly name: string;
  /** Type of the taint that the run gets. */
  readonly taint: string;
  /** Tool by which the text is read; undefined if the run gets it without a tool. */
  readonly tool?: string;
  inject(stage: Stage, text: string): Promise<InjectedText>;
}

const toRead = (tool: string, args: Readonly<Record<string, unknown>>) => orderText({ tool, args });

export const CARRIERS: readonly Carrier[] = [
  {
    name: 'page of a guest',
    taint: 'guest',
    tool: 'read',
    async inject({ guest, workspace, inbox }, text) {
      const page = { type: 'document', name: 'Letter', content: text, parent_id: inbox.id };
      const { id } = await create(guest, workspace, page);
      return { question: toRead('read', { resource_id: id }) };
    },
  },
  {
    name: 'row of a form',
    taint: 'form',
    tool: 'read_rows',
    async inject({ owner, guest, workspace }, text) {
      const { form } = await newForm(owner, workspace.id, LETTER_FORM);
      const values = { name: text };
      const { status, text: said } = await guest.post(`/forms/${form.token}/submit`, { values });
      if (status !== 201) throw new Error(said);
      return { question: toRead('read_rows', { resource_id: form.resource_id }) };
    },
  },
  {
    name: 'comment of a guest',
    taint: 'guest',
    tool: 'read_comments',
    async inject({ owner, guest, workspace, inbox }, text) {
      const page = { type: 'document', name: 'Plan', content: 'Some plan.', parent_id: inbox.id };
      const { id } = await create(owner, workspace, page);
      const { status, text: said } = await guest.post(`/resources/${id}/comments`, { body: text });
      if (status !== 201) throw new Error(said);
      return { question: toRead('read_comments', { resource_id: id }) };
    },
  },
  {
    name: 'message of a guest',
    taint: 'guest',
    tool: 'list_messages',
    async inject({ owner, guest, workspace }, text) {
      const id = await newGroup(owner, workspace, [guest.user.id]);
      const { status, text: said } = await guest.post(`/im/conversations/${id}/messages`, { text });
      if (status !== 201) throw new Error(said);
      return { question: toRead('list_messages', { conversation_id: id }) };
    },
  },
  {
    name: 'file of a guest',
    taint: 'guest',
    tool: 'read',
    async inject({ owner, guest, inbox }, text) {
      const { data } = await newFile(guest, { name: `${newWord()}.txt`, parent_id: inbox.id }, text);
      const { id } = data.resource;
      await eventually(async () => {
        // The text of a file is extracted after its upload.
        const { text: said } = await owner.get(`/resources/${id}/content?format=text`);
        if (!said.includes('"text_extraction":"done"')) throw new Error(said);
      }, 60_000);
      return { question: toRead('read', { resource_id: id }) };
    },
  },
  {
    name: 'web page',
    taint: 'web',
    tool: 'web_fetch',
    async inject({ web }, text) {
      const url = web.serve(`<p>${text}</p>`);
      return { question: `Read ${url} ${toRead('web_fetch', { url })}` };
    },
  },
  {
    name: 'result of an MCP server',
    taint: 'mcp',
    tool: 'docs__look_up',
    async inject({ answers, connectedId }, text) {
      const key = newWord();
      answers.set(key, text);
      return { question: toRead('docs__look_up', { key }), agentId: connectedId };
    },
  },
  {
    name: 'description of an MCP tool',
    taint: 'mcp',
    async inject(stage, text) {
      const server = await stage.startServer([{ name: 'weather', description: text }]);
      const mail = { name: 'mail', url: stage.mail.url };
      const agentId = await stage.newAgent([{ name: 'weather', url: server.url }, mail]);
      return { question: 'What is the weather?', agentId };
    },
  },
  {
    name: 'memory of a tainted run',
    taint: 'agent',
    inject: injectMemory,
  },
];

const LETTER_FORM = { title: 'Write to us', fields: [{ id: 'name', type: 'long_text', label: 'Your letter' }] };

/** Lets a run write a memory because a guest's page orders it, and prepares its acceptance. */
async function injectMemory(stage: Stage, text: string): Promise<InjectedText> {
  const { owner, guest, workspace, inbox } = stage;
  const word = newWord();
  const content = orderText({
    tool: 'memory',
    args: { action: 'remember', scope: 'user', content: `${word} ${text}` },
  });
  const { id } = await create(guest, workspace, { type: 'document', name: 'Habit', content, parent_id: inbox.id });
  const run = await runOf(stage, stage.agentId, toRead('read', { resource_id: id }));
  const { data } = await owner.get<List<{ id: string; content: string; status: string }>>(
    `/memories?q=${word}&status=proposed`,
  );
  const [memory] = data.items;
  if (memory?.status !== 'proposed') throw new Error(`nothing is proposed: ${JSON.stringify([run.status, run.steps])}`);
  await owner.post(`/agent-runs/${run.id}/cancel`);
  return { question: `What about ${word}?`, accept: memory.id };
}
