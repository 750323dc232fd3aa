import { type Caller, KNOWN_SCOPES } from '@commonplace/kit/auth';
import { contracts } from '@commonplace/platform/contracts';
import {
  CreateCommentRequest,
  ListCommentsRequest,
  UpdateCommentRequest,
} from '@commonplace/proto/resources/v1/comment_service.js';
import {
  type Content,
  ContentFormat,
  ContentMode,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  GetResourceRequest,
  ListResourcesRequest,
  ResourceInclude,
} from '@commonplace/proto/resources/v1/resource_service.js';
import { CreateSnapshotRequest, GetSnapshotRequest } from '@commonplace/proto/resources/v1/snapshot_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;
let owner: Caller;
let editor: Caller;
let secret: string;
let open: string;
let page: string;
let text: string;

beforeAll(async () => {
  world = await openWorld();
  owner = world.member(WorkspaceRole.OWNER);
  editor = world.member(WorkspaceRole.EDITOR);
  const restricted = { type: ResourceType.DOCUMENT, name: 'Secret plan', accessMode: AccessMode.RESTRICTED };
  secret = (await world.create(owner, restricted)).id;
  open = (await world.create(owner, { type: ResourceType.DOCUMENT, name: 'Open plan' })).id;
  text = [
    '# Links',
    '',
    `* See [Secret *plan*](resource:${secret} "Secret plan") and [Open plan](resource:${open}).`,
    `* Or [[resource:${secret}|Secret plan]], [again][s], <a href="resource:${secret}">Secret plan</a>.`,
    '',
    `![Secret plan](resource:${secret})`,
    '',
    `:::resource_link{resource_id="${secret}" title="Secret plan"}`,
    ':::',
    '',
    `:::synced_block{resource_id="${secret}"}`,
    'Secret plan, its text.',
    ':::',
    '',
    `<p data-x="resource:${secret}">Secret plan</p>`,
    '',
    `[s]: resource:${secret} "Secret plan"`,
    '',
  ].join('\n');
  page = (await world.create(owner, { type: ResourceType.DOCUMENT, name: 'Page', content: json(text) })).id;
});
afterAll(() => world.stage.close());

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

const FORMATS = [ContentFormat.MARKDOWN, ContentFormat.JSON, ContentFormat.HTML, ContentFormat.TEXT];

async function read(by: Caller, format: ContentFormat, id = page): Promise<string> {
  const request = GetContentRequest.fromPartial({ resourceId: id, format });
  return wordsOf(await world.content.getContent(request, await world.stage.as(by)));
}

async function write(by: Caller, content: unknown, more: Partial<ReplaceContentRequest> = {}): Promise<Content> {
  const request = ReplaceContentRequest.fromPartial({ resourceId: page, content: json(content), ...more });
  return world.content.replaceContent(request, await world.stage.as(by));
}

function wordsOf({ content }: Pick<Content, 'content'>): string {
  const value: unknown = JSON.parse(content.toString());
  return typeof value === 'string' ? value : JSON.stringify(value);
}

test.each(FORMATS)('%s names only resources that its reader may read', async (format) => {
  for (const reader of [editor, world.member(WorkspaceRole.VIEWER)]) {
    const shown = await read(reader, format);
    expect(shown).not.toMatch(/secret|again/i);
    expect(shown).toContain('No access');
    expect(shown).toContain('Open plan');
  }
  expect(await read(owner, format)).toMatch(/Secret/);
});

test('hides an id that is written with escapes', async () => {
  const dash = (instead: string) => secret.replaceAll('-', instead);
  const digit = `&#x${secret.charCodeAt(0).toString(16)};${secret.slice(1)}`;
  const texts = [
    `[Secret plan](resource:${dash('\\-')})`,
    `[Secret plan](resource:${dash('&#45;')})`,
    `[Secret plan](resource&colon;${secret}), [Secret plan](&#114;esource:${secret})`,
    `<a href="resource:${digit}">Secret plan</a>`,
    `[Secret plan][s]\n\n[s]: resource:${dash('&#045;')}`,
    { type: 'doc', content: [{ type: 'resource_link', attrs: { resource_id: secret, title: 'Secret plan' } }] },
  ];
  for (const content of texts) {
    const escaped = typeof content === 'string' ? json(content) : Buffer.from(dashesEscaped(JSON.stringify(content)));
    const { id } = await world.create(owner, { type: ResourceType.DOCUMENT, name: 'Escapes', content: escaped });
    for (const format of FORMATS) expect(await read(editor, format, id)).not.toMatch(/secret/i);
    expect(await read(owner, ContentFormat.MARKDOWN, id)).toMatch(/Secret/);
  }
});

/** Writes the hyphens of a JSON text as escapes. */
const dashesEscaped = (text: string) => text.replaceAll('-', '\\u002d');

test('returns the text byte for byte to a reader of everything', async () => {
  expect(await read(owner, ContentFormat.MARKDOWN)).toBe(text);
  expect(await read(editor, ContentFormat.MARKDOWN)).toContain(`[No access](resource:${secret})`);
});

test('snapshots, responses to writes and included contents have placeholders too', async () => {
  const made = await world.snapshots.createSnapshot(
    CreateSnapshotRequest.fromPartial({ resourceId: page, name: 'kept' }),
    await world.stage.as(owner),
  );
  const kept = GetSnapshotRequest.fromPartial({ resourceId: page, snapshotId: made.id, diffTo: 'current' });
  const snapshot = await world.snapshots.getSnapshot(kept, await world.stage.as(editor));
  expect(wordsOf(snapshot)).not.toMatch(/secret/i);
  expect(JSON.stringify(snapshot.diff)).not.toMatch(/secret/i);
  const include = [ResourceInclude.CONTENT];
  const one = GetResourceRequest.fromPartial({ resourceId: page, include });
  expect((await world.resources.getResource(one, await world.stage.as(editor))).content).not.toMatch(/secret/i);
  const all = ListResourcesRequest.fromPartial({ workspaceId: world.workspaceId, q: 'Page', include });
  const { items } = await world.resources.listResources(all, await world.stage.as(editor));
  expect(items.map(({ content }) => content?.includes('No access'))).toEqual([true]);
});

test.each(FORMATS)('writing back what was read as %s changes nothing', async (format) => {
  const shown = await read(editor, format);
  const content = format === ContentFormat.JSON ? JSON.parse(shown) : shown;
  const written = await write(editor, content, format === ContentFormat.JSON ? {} : { format });
  expect(written.changed).toBe(false);
  expect(await read(owner, ContentFormat.MARKDOWN)).toBe(text);
});

test('an edit around placeholders keeps the references that they replace', async () => {
  const shown = await read(editor, ContentFormat.MARKDOWN);
  const written = await write(editor, `${shown.replace('# Links', '# New')}\nMore.\n`);
  expect(wordsOf(written)).toContain('# New');
  expect(wordsOf(written)).not.toMatch(/secret/i);
  const whole = await read(owner, ContentFormat.MARKDOWN);
  expect(whole).toContain(`[Secret *plan*](resource:${secret} "Secret plan")`);
  expect(whole).toContain(`[[resource:${secret}|Secret plan]]`);
  expect(whole).toContain('Secret plan, its text.');
  expect(whole).toContain(`<a href="resource:${secret}">Secret plan</a>`);
  expect(whole).toContain(`<p data-x="resource:${secret}">Secret plan</p>`);
  expect(whole).not.toContain('No access');
  expect(whole).toContain('More.');
  const more = await write(editor, 'Even more.', { mode: ContentMode.APPEND });
  expect(wordsOf(more)).not.toMatch(/secret/i);
});

test('shows the id of a resource that does not exist as it was written', async () => {
  const gone = '01970000-0000-7000-8000-000000000000';
  const made = await world.create(owner, { type: ResourceType.DOCUMENT, content: json(`[Gone](resource:${gone})`) });
  expect(await read(editor, ContentFormat.MARKDOWN, made.id)).toBe(`[Gone](resource:${gone})`);
});

test('what searches show of a document has placeholders for its reader', async () => {
  const name = { type: ResourceType.DOCUMENT, name: 'Plain', content: json(`Before [Open plan](resource:${open}).`) };
  const plain = (await world.create(owner, name)).id;
  const { id } = await world.create(owner, {
    type: ResourceType.DOCUMENT,
    name: 'Notes',
    content: json(`We discussed [Secret plan](resource:${secret}) today.`),
  });
  const ask = async (by: Caller) =>
    (await world.index.getShownTexts({ ids: [plain, id], textOnlyIds: [] }, await world.stage.as(by))).texts;
  expect(await ask(owner)).toEqual([]);
  const [shown, ...others] = await ask(editor);
  const text = `We discussed [No access](resource:${secret}) today.`;
  expect([others, shown?.resourceId, shown?.text]).toEqual([[], id, text]);
  expect(shown?.text.slice(shown.start, shown.end)).not.toContain('discussed');
  expect((shown?.formerEnd ?? 0) - (shown?.end ?? 0)).toBe('Secret plan'.length - 'No access'.length);
});

test('searches know of a name in a document that named nothing before', async () => {
  const plain = { type: ResourceType.DOCUMENT, name: 'Plain words', content: json('Nothing is named.') };
  const { id } = await world.create(owner, plain);
  const ask = async () =>
    (await world.index.getShownTexts({ ids: [id], textOnlyIds: [id] }, await world.stage.as(editor))).texts;
  expect(await ask()).toEqual([]);
  expect(await ask()).toEqual([]);
  await write(owner, `Now [Secret plan](resource:${secret}) is named.`, { resourceId: id });
  expect(await ask()).toMatchObject([{ text: `Now [No access](resource:${secret}) is named.` }]);
});

test('of documents that are too large to be read for a page of searches, nothing is shown and no block is named', async () => {
  const content = json('word '.repeat(900_000));
  const ids: string[] = [];
  for (let i = 0; i < 2; i++) {
    ids.push((await world.create(owner, { type: ResourceType.DOCUMENT, name: `Large ${i}`, content })).id);
  }
  const ask = async (some: readonly string[]) =>
    (await world.index.getShownTexts({ ids: [...some], textOnlyIds: [] }, await world.stage.as(editor))).texts;
  expect(await ask(ids.slice(1))).toEqual([]);
  const [shown, ...others] = await ask(ids);
  expect([others, ids.includes(shown?.resourceId ?? '')]).toEqual([[], true]);
  expect(shown).toMatchObject({ text: '', start: 0, end: 0, formerEnd: 2 ** 31 - 1, comments: [] });
  const locate = async (some: readonly string[]) => {
    const places = some.map((resourceId) => ({ resourceId, type: ResourceType.DOCUMENT, offset: 10, text: 'word' }));
    const { parts } = await world.index.locatePlaces({ places }, await world.stage.as(editor));
    return parts.map(({ blockId }) => blockId !== undefined);
  };
  const few = { type: ResourceType.DOCUMENT, name: 'Small', content: json('word '.repeat(9)) };
  const small = (await world.create(owner, few)).id;
  expect(await locate([...ids.slice(1), small])).toEqual([true, true]);
  expect(await locate([...ids, small])).toEqual([true, false, false]);
}, 60_000);

test('comments have placeholders, which an edit keeps', async () => {
  const body = `See [Secret plan](resource:${secret}) and [Open plan](resource:${open}).`;
  const hidden = `See [No access](resource:${secret}) and [Open plan](resource:${open}).`;
  const comments = world.stage.host.client(contracts.comments);
  const commenting = async (by: Caller) =>
    world.stage.as({ ...by, credential: { ...by.credential, scopes: KNOWN_SCOPES } });
  const made = await comments.createComment(
    CreateCommentRequest.fromPartial({ resourceId: page, body }),
    await commenting(owner),
  );
  expect(made.body).toBe(body);
  const list = async (by: Caller) =>
    (await comments.listComments(ListCommentsRequest.fromPartial({ resourceId: page }), await commenting(by))).items[0];
  expect(await list(owner)).toMatchObject({ body, bodyHtml: expect.stringContaining('Secret plan') });
  const shown = await list(editor);
  expect(shown?.body).toBe(hidden);
  expect(shown?.bodyHtml).not.toMatch(/secret plan/i);
  expect(shown?.bodyHtml).toContain('No access');
  const searched = async (textOnlyIds: string[]) =>
    (await world.index.getShownTexts({ ids: [page], textOnlyIds }, await commenting(editor))).texts[0]?.comments;
  expect(await searched([])).toEqual(['See No access and Open plan.']);
  expect(await searched([page])).toEqual([]);

  const theirs = await comments.createComment(
    CreateCommentRequest.fromPartial({ resourceId: page, body }),
    await commenting(editor),
  );
  expect(theirs.body).toBe(hidden);
  const edit = { resourceId: page, commentId: theirs.id, updateMask: ['body'] };
  const change = async (text: string) =>
    comments.updateComment(UpdateCommentRequest.fromPartial({ ...edit, body: text }), await commenting(editor));
  expect((await change(hidden)).version).toBe(theirs.version);
  expect((await change(`${hidden} More.`)).body).toBe(`${hidden} More.`);
  const all = await comments.listComments(
    ListCommentsRequest.fromPartial({ resourceId: page }),
    await commenting(owner),
  );
  expect(all.items.map((one) => one.body)).toContain(`${body} More.`);
});

test('passages of comments do not show words of hidden references', async () => {
  const content = `We follow [Secret plan](resource:${secret}) from Monday on, all of us.\n`;
  const made = { type: ResourceType.DOCUMENT, name: 'Discussed', content: json(content) };
  const { id } = await world.create(owner, made);
  const comments = world.stage.host.client(contracts.comments);
  const commenting = (by: Caller) => world.stage.as({ ...by, credential: { ...by.credential, scopes: KNOWN_SCOPES } });
  const anchors = [
    { quote: 'Secret plan from Monday', prefix: 'We follow ', suffix: ' on, all' },
    { quote: 'plan from Monday', prefix: 'follow Secret ', suffix: ' on, all' },
    { quote: 'Secret pla', prefix: 'We follow ', suffix: 'n from' },
    { quote: 'from  Monday', prefix: 'Secret\nplan ', suffix: ' on, all' },
    { quote: 'We follow', prefix: '', suffix: ' Secret plan from' },
  ];
  for (const anchor of anchors) {
    const request = CreateCommentRequest.fromPartial({ resourceId: id, body: 'Why?', anchor });
    await comments.createComment(request, await commenting(owner));
  }
  const passages = async (by: Caller) => {
    const page = { limit: 50, offset: 0, cursor: '' };
    const request = ListCommentsRequest.fromPartial({ resourceId: id, page });
    const { items } = await comments.listComments(request, await commenting(by));
    return items.map(({ anchor }) => [anchor?.prefix, anchor?.quote, anchor?.suffix].join('|')).reverse();
  };
  expect(await passages(owner)).toContain('We follow |Secret plan from Monday| on, all');
  const shown = await passages(editor);
  for (const passage of shown) expect(passage).not.toMatch(/secret|plan/i);
  expect(shown).toContain('We follow |No access from Monday| on, all');
});

test('passages of a document with very many hidden references show none of their words', async () => {
  const references = Array.from({ length: 51 }, (_, i) => `[Secret ${i}](resource:${secret})`);
  const content = json(`We follow ${references.join(' and ')}.`);
  const { id } = await world.create(owner, { type: ResourceType.DOCUMENT, name: 'Many', content });
  const comments = world.stage.host.client(contracts.comments);
  const commenting = (by: Caller) => world.stage.as({ ...by, credential: { ...by.credential, scopes: KNOWN_SCOPES } });
  const anchor = { quote: 'Secret 7 and', prefix: 'and ', suffix: ' Secret 8' };
  const request = CreateCommentRequest.fromPartial({ resourceId: id, body: 'Why?', anchor });
  await comments.createComment(request, await commenting(owner));
  const { items } = await comments.listComments(
    ListCommentsRequest.fromPartial({ resourceId: id }),
    await commenting(editor),
  );
  expect(items[0]?.anchor).toMatchObject({ quote: 'No access', prefix: 'No access', suffix: 'No access' });
});
