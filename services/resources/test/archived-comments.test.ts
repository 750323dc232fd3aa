import type { CallContext } from '@commonplace/kit/rpc';
import { MAX_EMOJI, MAX_REACTIONS } from '@commonplace/platform/reactions';
import { expect, test } from '@jest/globals';
import type { Comment } from '../src/comments/records.js';
import { MAX_MENTIONS_PER_COMMENT } from '../src/comments/rules.js';
import type { ArchiveJson } from '../src/transfer/import/archive-json.js';
import { putComments } from '../src/transfer/import/archived-comments.js';
import type { ImportPeople } from '../src/transfer/import/people.js';

const idOf = ({ email }: ArchiveJson) => String(email).split('@')[0] ?? '';

/** Everybody is known by the part of the address before the @. The importer may name some of them as actors. */
const importer = (mayName: (id: string) => boolean): ImportPeople => ({
  load: async () => {},
  actors: async (given) =>
    given.map(idOf).map((id) => ({ actor: { type: 'user', id, name: 'Somebody' }, known: mayName(id) })),
  ids: async (given) => given.map(idOf),
});

async function restored(fields: object, people = importer(() => true)): Promise<Comment> {
  const written: Comment[] = [];
  const context = { work: { insert: (_: unknown, record: Comment) => written.push(record) } } as unknown as CallContext;
  const comments = [{ id: 'c', body: 'Text', author: { name: 'Ada' }, ...fields }];
  const archived = { comments, renamed: () => undefined };
  await putComments({} as never, { id: 'd', tenant: 't' } as never, archived as never, { people } as never, context);
  return written[0] as Comment;
}

const persons = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ email: `p${from + i}@x.example` }));
const emoji = (at: number) => String.fromCodePoint(0x1f400 + at);

test('an archive brings no more mentions than a comment may have, each person once', async () => {
  const { mentions } = await restored({ mentions: [...persons(1), ...persons(MAX_MENTIONS_PER_COMMENT + 10)] });
  expect(mentions).toEqual(persons(MAX_MENTIONS_PER_COMMENT - 1).map(({ email }) => email.split('@')[0]));
});

test('an archive brings no more reactions than a comment may have', async () => {
  const many = Array.from({ length: MAX_EMOJI + 5 }, (_, i) => ({ emoji: emoji(i), people: persons(3) }));
  const few = (await restored({ reactions: many })).reactions;
  expect([few.length, few[0]]).toEqual([MAX_EMOJI, { emoji: emoji(0), users: ['p0', 'p1', 'p2'] }]);

  const crowd = Array.from({ length: 3 }, (_, i) => ({ emoji: emoji(i), people: persons(2000) }));
  const { reactions } = await restored({ reactions: [...crowd, { emoji: emoji(3), people: persons(2000) }] });
  expect(reactions.map(({ users }) => users.length)).toEqual([2000, 2000, MAX_REACTIONS - 4000]);
});

test('reactions that are no emoji, of nobody, or that come twice are left out', async () => {
  const given = [
    { emoji: 'yes', people: persons(1) },
    { emoji: emoji(1), people: persons(1) },
    { emoji: emoji(1), people: persons(5) },
    { emoji: emoji(2), people: [] },
  ];
  expect((await restored({ reactions: given })).reactions).toEqual([{ emoji: emoji(1), users: ['p0'] }]);
});

test('reactions of others are left out unless the importer may name them', async () => {
  const given = [
    { emoji: emoji(1), people: persons(3) },
    { emoji: emoji(2), people: persons(1) },
  ];
  const { reactions } = await restored(
    { reactions: given },
    importer((id) => id === 'p1'),
  );
  expect(reactions).toEqual([{ emoji: emoji(1), users: ['p1'] }]);
});
