import { NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallOptions } from '@commonplace/kit/rpc';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import { Conversation, ConversationMember, ConversationType } from '@commonplace/proto/messaging/v1/conversation.js';
import type { GetConversationRequest } from '@commonplace/proto/messaging/v1/conversation_service.js';
import { Message } from '@commonplace/proto/messaging/v1/message.js';
import type { SendMessageRequest } from '@commonplace/proto/messaging/v1/message_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { describe, expect, test } from '@jest/globals';
import { createImTools } from '../src/engine/tools/im.js';
import { InvalidArguments, type Tool, type ToolContext } from '../src/engine/tools/tool.js';

const WORKSPACE = newId();
const ANN = { type: ActorType.USER, id: newId(), name: 'Ann' };
const BEN = { type: ActorType.USER, id: newId(), name: 'Ben' };
const BOT = { type: ActorType.AGENT, id: newId(), name: 'Bot' };

const conversation = (principals: readonly (typeof ANN)[], more: Partial<Conversation> = {}) =>
  Conversation.fromPartial({
    ...{ id: newId(), type: ConversationType.GROUP, name: 'Desk', isMember: true, memberCount: principals.length },
    members: principals.map((principal) => ConversationMember.fromPartial({ principal })),
    ...more,
  });

function stageOf(known: readonly Conversation[], messages: readonly Partial<Message>[] = []) {
  const sent: { readonly request: SendMessageRequest; readonly options: CallOptions }[] = [];
  const runs = new Map<string, { taintSources: readonly unknown[] }>();
  const parts = {
    imConversations: {
      getConversation: async ({ conversationId }: GetConversationRequest) => {
        const found = known.find(({ id }) => id === conversationId);
        if (found === undefined) throw NotFound();
        return found;
      },
    },
    imMessages: {
      listMessages: async () => ({ items: messages.map((one) => Message.fromPartial(one)), page: undefined }),
      sendMessage: async (request: SendMessageRequest, options: CallOptions) => {
        sent.push({ request, options });
        return Message.fromPartial({ id: newId(), seq: 7 });
      },
    },
    runs: { get: async (id: string) => runs.get(id) },
    memberships: {
      of: async (id: string) => {
        const role = id === ANN.id ? WorkspaceRole.EDITOR : WorkspaceRole.VIEWER;
        return { workspaces: new Map([[WORKSPACE, { role }]]) };
      },
    },
    systemCall: () => ({}),
  };
  const tools = createImTools(parts as never);
  const named = (name: string) => tools.find(({ schema }) => schema.name === name) as Tool;
  return { sent, runs, list: named('list_messages'), send: named('send_message') };
}

function contextWith(toolCallId = ''): ToolContext {
  const context = {
    run: { id: 'run', workspaceId: WORKSPACE, userId: ANN.id },
    ...{ toolCallId, signal: new AbortController().signal },
    acting: async () => ({ metadata: { requestId: 'req' }, deadline: Date.now() + 1000 }),
  };
  return context as unknown as ToolContext;
}

describe('send_message', () => {
  test.each([
    ['is a sink with other people', conversation([ANN, BEN, BOT]), true],
    ['is none where the person is alone with agents', conversation([ANN, BOT]), false],
    ['is a sink in a channel, which others may join', conversation([ANN], { type: ConversationType.CHANNEL }), true],
    ['is a sink in a direct conversation', conversation([ANN], { type: ConversationType.DIRECT }), true],
    ['is a sink with members that are not listed', conversation([ANN], { memberCount: 300 }), true],
  ])('%s', async (_, target, isSink) => {
    const { send } = stageOf([target]);
    const plan = await send.plan({ conversation_id: target.id, text: 'Hello' }, contextWith());
    expect(plan).toMatchObject({ isSink, action: 'comment', effect: 'idempotent', preview: { text: 'Hello' } });
    expect(plan.preview.targets).toEqual(['“Desk”']);
    const named = isSink && target.members.length > 1 ? [`Ben (${BEN.id})`] : [];
    expect(plan.preview.recipients.slice(0, 1)).toEqual(target.memberCount > 3 ? ['299 more'] : named);
  });

  test('sends one idempotency key for all attempts at a call, and mentions no one', async () => {
    const target = conversation([ANN, BEN]);
    const { send, sent } = stageOf([target]);
    const args = { conversation_id: target.id, text: `Hello @[Ben](user:${BEN.id})` };
    for (const toolCallId of ['run:1', 'run:1', 'run:2']) {
      expect((await send.call(args, contextWith(toolCallId))).text).toContain('number 7');
    }
    const [first, again, other] = sent.map(({ options }) => options.metadata.idempotency);
    expect(again).toEqual(first);
    expect(other?.id).not.toBe(first?.id);
    expect(sent[0]?.request).toMatchObject({ conversationId: target.id, text: args.text, mentions: [] });
    await expect(send.call(args, contextWith())).rejects.toThrow('only planned');
  });

  test.each([
    ['one that is not there', undefined],
    ['a channel that the person has not joined', { isMember: false }],
  ])('refuses %s', async (_, more) => {
    const target = conversation([BEN], more);
    const { send, list, sent } = stageOf(more === undefined ? [] : [target]);
    const args = { conversation_id: target.id, text: 'Hello' };
    await expect(send.plan(args, contextWith())).rejects.toThrow(InvalidArguments);
    await expect(send.call(args, contextWith('run:1'))).rejects.toThrow('takes part in no conversation');
    await expect(list.call(args, contextWith())).rejects.toThrow('takes part in no conversation');
    expect(sent).toEqual([]);
  });
});

describe('list_messages', () => {
  const target = conversation([ANN, BEN, BOT]);
  const message = (author: typeof ANN, text: string, seq: number, more: object = {}) => ({
    ...{ id: newId(), seq, author, text, createdAt: '2026-01-01T00:00:00Z', ...more },
  });

  test('returns messages as data, oldest first, without deleted ones and hidden text', async () => {
    const hidden = String.fromCodePoint(0xe0041);
    const items = [message(ANN, `Two${hidden}`, 2), { id: newId(), seq: 3, isDeleted: true }, message(ANN, 'One', 1)];
    const { list } = stageOf([target], items);
    const { text, taints, isPrivate } = await list.call({ conversation_id: target.id }, contextWith());
    const [fence, ...rest] = text.split('\n');
    const boundary = rest.at(-1) ?? '';
    expect(fence).toContain(boundary);
    expect(rest.filter((line) => line === 'One' || line === 'Two')).toEqual(['One', 'Two']);
    expect(taints).toEqual([]);
    expect(isPrivate).toBe(true);
  });

  test('taints a run by messages of viewers, automations, and agents whose run was tainted or is unknown', async () => {
    const automation = { type: ActorType.AUTOMATION, id: newId(), name: 'Robot' };
    const taintsBy = async (one: object) => {
      const { list, runs } = stageOf([target], [one]);
      runs.set('clean', { taintSources: [] });
      runs.set('tainted', { taintSources: [{ type: 'web' }] });
      return (await list.call({ conversation_id: target.id }, contextWith())).taints?.map(({ type, id }) => [type, id]);
    };
    expect(await taintsBy(message(BEN, 'x', 1))).toEqual([['guest', BEN.id]]);
    expect(await taintsBy(message(automation, 'x', 1))).toEqual([['guest', automation.id]]);
    expect(await taintsBy(message(BOT, 'x', 1))).toEqual([['agent', BOT.id]]);
    expect(await taintsBy(message(BOT, 'x', 1, { runId: 'tainted' }))).toEqual([['agent', BOT.id]]);
    expect(await taintsBy(message(BOT, 'x', 1, { runId: 'clean' }))).toEqual([]);
  });

  test.each([0, -1, 1.5, 'x', 2 ** 31])('refuses before_seq %j', async (before_seq) => {
    const { list } = stageOf([target]);
    await expect(list.call({ conversation_id: target.id, before_seq }, contextWith())).rejects.toThrow('whole number');
  });
});
