import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { ConversationType } from '@commonplace/proto/messaging/v1/conversation.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { keyOf, newPlace, openTalkStage, type TalkStage } from './talk-stage.js';

let stage: TalkStage;
beforeAll(async () => {
  stage = await openTalkStage();
});
afterAll(() => stage.close());

const names = async (by: Caller, conversationIds: readonly string[]) => {
  const { conversations } = await stage.access.checkAccess(
    { conversationIds: [...conversationIds] },
    await stage.as(by),
  );
  return conversations.map(({ name }) => name).sort();
};

test('conversations are told of to their members, channels also to those who may join', async () => {
  const place = newPlace();
  const [ann, ben, cem, guest] = ['Ann', 'Ben', 'Cem', 'Guest'].map((name) => stage.person(name)) as [
    ...[Caller, Caller, Caller, Caller],
  ];
  for (const one of [ann, ben, cem]) stage.join(one, place);
  stage.join(guest, place, WorkspaceRole.GUEST);
  const { workspaceId } = place;
  const made = [
    await stage.channel(ann, place, { icon: '📣' }),
    await stage.create(ann, { type: ConversationType.GROUP, workspaceId, name: 'Secret', memberIds: [ben.userId] }),
    await stage.create(ann, { type: ConversationType.DIRECT, workspaceId, memberIds: [ben.userId] }),
  ];
  const ids = [...made.map(({ id }) => id), newId()];
  expect(await names(ann, ids)).toEqual(['Ben', 'General', 'Secret']);
  expect(await names(ben, ids)).toEqual(['Ann', 'General', 'Secret']);
  expect(await names(cem, ids)).toEqual(['General']);
  expect(await names(guest, ids)).toEqual([]);
  expect(await names(stage.person('Stranger'), ids)).toEqual([]);
  // The direct conversation belongs to the whole Org.
  expect(await names(keyOf(ann, { workspaceIds: [workspaceId] }), ids)).toEqual(['General', 'Secret']);
  expect(await names(keyOf(ann, { workspaceIds: [newId()] }), ids)).toEqual([]);
  await stage.leave(ben, ids[1] as string);
  expect(await names(ben, ids)).toEqual(['Ann', 'General']);
  const { conversations } = await stage.access.checkAccess({ conversationIds: ids }, await stage.as(ann));
  const byId = new Map(conversations.map((one) => [one.id, one]));
  expect(byId.get(ids[0] as string)).toEqual({ id: ids[0], name: 'General', icon: '📣', workspaceId });
  expect(byId.get(ids[2] as string)?.workspaceId).toBe('');
});

test('what the author of an automation cannot read is not told of to whoever it acts for', async () => {
  const place = newPlace();
  const [ann, author] = [stage.person('Ann'), stage.person('Author')];
  for (const one of [ann, author]) stage.join(one, place);
  const { workspaceId } = place;
  const { id } = await stage.create(ann, { type: ConversationType.GROUP, workspaceId, name: 'Secret', memberIds: [] });
  expect(await names(ann, [id])).toEqual(['Secret']);
  expect(await names({ ...ann, authorId: author.userId }, [id])).toEqual([]);
});
