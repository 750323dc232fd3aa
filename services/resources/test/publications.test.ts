import type { Caller } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import type { Reply } from '@commonplace/kit/rpc';
import { ReplaceContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import {
  PublicationMode,
  PublicationStatus,
  PublicationVisibility,
} from '@commonplace/proto/resources/v1/publication.js';
import type { PublishResourceRequest } from '@commonplace/proto/resources/v1/publication_service.js';
import type { CheckPublicationPasswordResponse } from '@commonplace/proto/resources/v1/reader_service.js';
import { ReaderFormat } from '@commonplace/proto/resources/v1/reader_service.js';
import { AccessMode, type Resource, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HOST, openPublishingStage, type PublishingStage } from './publishing-stage.js';
import type { PlayedWorkspace } from './tenancy.js';

let s: PublishingStage;
let boss: Caller;
let editor: Caller;
let workspace: PlayedWorkspace;
let org: ReturnType<PublishingStage['tenancy']['org']>;

beforeAll(async () => {
  s = await openPublishingStage();
  org = s.tenancy.org();
  workspace = s.tenancy.workspace(org);
  boss = s.tenancy.person('Boss');
  editor = s.tenancy.person('Editor');
  for (const one of [boss, editor]) org.roles.set(one.userId, OrgRole.MEMBER);
  workspace.roles.set(boss.userId, WorkspaceRole.OWNER);
  workspace.roles.set(editor.userId, WorkspaceRole.EDITOR);
});
afterAll(() => s.stage.close());

const doc = (name: string, markdown = '', parentId?: string): Promise<Resource> =>
  s.create(boss, {
    type: ResourceType.DOCUMENT,
    name,
    content: Buffer.from(JSON.stringify(markdown)),
    ...(parentId === undefined ? { workspaceId: workspace.id } : { parentId }),
  });
const folder = (name: string, parentId?: string) =>
  s.create(boss, {
    type: ResourceType.FOLDER,
    name,
    ...(parentId === undefined ? { workspaceId: workspace.id } : { parentId }),
  });
const restrict = (id: string, accessMode: AccessMode = AccessMode.RESTRICTED) =>
  s.update(boss, id, { updateMask: ['access_mode'], accessMode });

async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof AppError) return error.reason;
    throw error;
  }
  return 'none';
}

describe('publishing', () => {
  test('an item that was never published has only a status', async () => {
    const { id } = await doc('Quiet');
    expect(await s.publication(boss, id)).toMatchObject({
      id: '',
      resourceId: id,
      status: PublicationStatus.UNPUBLISHED,
    });
    expect(await s.read('quiet')).toMatchObject({ missing: { gone: false } });
    expect(await refusal(s.unpublish(boss, id))).toBe('not_found');
  });

  test('requires a manager, and an Org that allows it', async () => {
    const { id } = await doc('Guarded');
    expect(await refusal(s.publish(editor, id))).toBe('insufficient_role');
    org.allowPublicPublishing = false;
    await s.tell('org.updated');
    expect(await refusal(s.publish(boss, id))).toBe('publishing_disabled');
    org.allowPublicPublishing = true;
    await s.tell('org.updated');
    const reply: Reply = {};
    const first = await s.publish(boss, id, {}, {}, reply);
    expect(reply.status).toBeUndefined();
    expect(first).toMatchObject({
      slug: 'guarded',
      url: 'http://127.0.0.1:8080/p/guarded',
      status: PublicationStatus.ACTIVE,
      visibility: PublicationVisibility.UNLISTED,
      includeChildren: true,
      allowIndexing: false,
      mode: PublicationMode.LIVE,
      pageCount: 1,
      version: 1,
    });
    const again: Reply = {};
    expect(await s.publish(boss, id, { title: 'Other' }, {}, again)).toMatchObject({ title: 'Other', version: 2 });
    expect(again.status).toBe(200);
    expect(await refusal(s.publish(boss, id, {}, { baseVersion: 1 }))).toBe('version_conflict');
    expect((await s.get(boss, id)).publication).toEqual({ status: 'active', url: first.url });
    org.allowPublicPublishing = false;
    await s.tell('org.updated');
    expect(await s.read('guarded')).toMatchObject({ missing: { gone: false } });
    expect((await s.publication(boss, id)).status).toBe(PublicationStatus.SUSPENDED);
    org.allowPublicPublishing = true;
    await s.tell('org.updated');
    expect((await s.page('guarded')).face?.title).toBe('Other');
  });

  test('gives a slug to one of two concurrent calls, and lets both claim one domain', async () => {
    // Hashing a password takes long, so the other call finishes first.
    const late = { password: 'correct horse' };
    const inputs: [Partial<PublishResourceRequest>, string][] = [
      [{ slug: 'wanted-by-two' }, 'slug_taken'],
      [{ customDomains: ['wanted.example.com'] }, 'none'],
    ];
    for (const [input, reason] of inputs) {
      const [first, second] = [await doc('First'), await doc('Second')];
      const calls = [s.publish(boss, first.id, { ...input, ...late }), s.publish(boss, second.id, input)];
      const outcomes = await Promise.all(calls.map(refusal));
      expect(outcomes.sort()).toEqual(['none', reason].sort());
    }
  });

  test('refuses invalid input as a whole', async () => {
    const { id } = await doc('Bad');
    expect(await refusal(s.publish(boss, id, { slug: 'No Slug' }))).toBe('invalid_slug');
    expect(await refusal(s.publish(boss, id, { slug: 'ab' }))).toBe('invalid_slug');
    expect(await refusal(s.publish(boss, id, { visibility: PublicationVisibility.PASSWORD }))).toBe('missing_field');
    expect(await refusal(s.publish(boss, id, { expiresAt: '2020-01-01T00:00:00.000Z' }))).toBe('invalid_value');
    expect(await refusal(s.publish(boss, id, { customDomains: ['127.0.0.1'] }))).toBe('invalid_value');
    const both = s.publish(boss, id, { customDomains: ['localhost', 'a b'], expiresAt: '2020-01-01T00:00:00.000Z' });
    expect(await refusal(both)).toBe('validation_failed');
    expect(await refusal(s.publish(boss, id, { imageFileId: id }))).toBe('invalid_value');
    expect((await s.publication(boss, id)).status).toBe(PublicationStatus.UNPUBLISHED);
  });

  test('derives a free slug from a name in any script, and refuses a taken one', async () => {
    const cyrillic = await s.publish(boss, (await doc('Привет, мир')).id);
    expect(cyrillic.slug).toBe('privet-mir');
    const unknown = await s.publish(boss, (await doc('学')).id);
    expect(unknown.slug).toMatch(/^[a-z0-9-]{3,80}$/);
    const one = await doc('Twin');
    const other = await doc('Twin');
    expect((await s.publish(boss, one.id)).slug).toBe('twin');
    expect((await s.publish(boss, other.id)).slug).toMatch(/^twin-[0-9a-f]{8}$/);
    expect(await refusal(s.publish(boss, other.id, { slug: 'twin' }))).toBe('slug_taken');
  });

  test('a slug is independent of the name, redirects after a change, and stays reserved after unpublishing', async () => {
    const { id } = await doc('Stable name');
    const child = await doc('Child', 'Text', id);
    await s.publish(boss, id);
    await s.update(boss, id, { updateMask: ['name'], name: 'Another name' });
    expect((await s.page('stable-name')).item?.name).toBe('Another name');
    await s.publish(boss, id, { slug: 'moved-there' });
    expect(await s.read('stable-name', { path: 'child-1' })).toMatchObject({
      redirect: { location: 'http://127.0.0.1:8080/p/moved-there/child-1' },
    });
    const other = await doc('Other');
    expect(await refusal(s.publish(boss, other.id, { slug: 'stable-name' }))).toBe('slug_taken');
    const { slugReservedUntil } = await s.unpublish(boss, id);
    expect(Date.parse(slugReservedUntil ?? '') - Date.now()).toBeGreaterThan(29.9 * 86_400_000);
    expect(await s.read('moved-there')).toMatchObject({ missing: { gone: true } });
    expect(await refusal(s.publish(boss, other.id, { slug: 'moved-there' }))).toBe('slug_taken');
    expect((await s.get(boss, id)).publication).toBeUndefined();
    expect((await s.publish(boss, id)).slug).toBe('moved-there');
    await s.unpublish(boss, id);
    await s.publish(boss, id, { slug: 'a-last-one' });
    await s.unpublish(boss, id);
    expect((await s.publish(boss, id)).slug).toBe('a-last-one');
    await s.unpublish(boss, id);
    await s.publish(boss, id, { slug: 'moved-there' });
    await s.unpublish(boss, id);
    expect((await s.publish(boss, id)).slug).toBe('moved-there');
    expect((await s.page('moved-there')).tree.map(({ id: one }) => one)).toEqual([id, child.id]);
  });
});

describe('readers', () => {
  test('see the item and its descendants, at paths that outlive names', async () => {
    const home = await folder('Guide');
    const first = await doc('First steps', '# Hello\n\nWords', home.id);
    const second = await doc('Second', 'More', home.id);
    const deep = await doc('Deep', 'Deeper', first.id);
    await s.publish(boss, home.id, { showAuthor: true });
    const page = await s.page('guide');
    expect(page.tree.map(({ id, depth }) => [id, depth])).toEqual([
      [home.id, 0],
      [first.id, 1],
      [deep.id, 2],
      [second.id, 1],
    ]);
    expect(page.folder?.children.map(({ name }) => name)).toEqual(['First steps', 'Second']);
    const path = page.tree[1]?.path.slice('/p/guide/'.length) ?? '';
    expect(path).toMatch(/^first-steps-[0-9a-f]{12}$/);
    const read = await s.page('guide', path);
    expect(read.document?.html).toContain('<h1 id="h-hello"');
    expect(read.document?.headings).toEqual([{ id: 'h-hello', level: 1, text: 'Hello' }]);
    expect(read.trail.map(({ id }) => id)).toEqual([home.id, first.id]);
    expect(read.item).toMatchObject({ author: 'Boss', type: ResourceType.DOCUMENT });
    expect(read.canonicalUrl).toBe(`http://127.0.0.1:8080/p/guide/${path}`);
    await s.update(boss, first.id, { updateMask: ['name'], name: 'Renamed' });
    const { redirect } = await s.read('guide', { path });
    expect(redirect?.location).toMatch(/^http:\/\/127\.0\.0\.1:8080\/p\/guide\/renamed-[0-9a-f]{12}$/);
    const markdown = await s.page('guide', redirect?.location.split('/').at(-1), { format: ReaderFormat.MARKDOWN });
    expect(markdown.document?.markdown).toBe('# Hello\n\nWords\n');
    await s.publish(boss, home.id, { allowCopy: false, includeChildren: false });
    expect(await s.read('guide', { format: ReaderFormat.MARKDOWN })).toMatchObject({ missing: { refused: true } });
    expect((await s.page('guide')).tree).toHaveLength(1);
    expect(await s.read('guide', { path: `x-${first.id.slice(-12)}` })).toMatchObject({ missing: { gone: false } });
  });

  test('see each change to the tree at once', async () => {
    const home = await folder('Changing');
    const child = await doc('Child', 'Text', home.id);
    const away = await folder('Away');
    await s.publish(boss, home.id);
    const names = async () => (await s.page('changing')).tree.slice(1).map(({ name }) => name);
    const seen: string[] = [await s.revision('changing')];
    const changes = async (act: Promise<unknown>) => {
      await act;
      const revision = await s.revision('changing');
      expect(seen).not.toContain(revision);
      seen.push(revision);
    };
    await changes(s.write(boss, child.id, 'Other text'));
    await changes(restrict(child.id));
    expect(await names()).toEqual([]);
    await changes(restrict(child.id, AccessMode.INHERIT));
    expect(await names()).toEqual(['Child']);
    await s.resources.deleteResource({ resourceId: child.id }, await s.stage.as(boss));
    expect(await names()).toEqual([]);
    await s.trash.restoreResource({ resourceId: child.id, parentId: undefined }, await s.stage.as(boss));
    expect(await names()).toEqual(['Child']);
    await s.update(boss, child.id, { updateMask: ['parent_id'], parentId: away.id });
    expect(await names()).toEqual([]);
    await s.resources.deleteResource({ resourceId: home.id }, await s.stage.as(boss));
    expect(await s.read('changing')).toMatchObject({ missing: { gone: false } });
    await s.trash.restoreResource({ resourceId: home.id, parentId: undefined }, await s.stage.as(boss));
    await s.page('changing');
    await restrict(home.id);
    expect(await s.read('changing')).toMatchObject({ missing: { gone: false } });
    expect((await s.publication(boss, home.id)).status).toBe(PublicationStatus.SUSPENDED);
    expect((await s.get(boss, home.id)).publication?.status).toBe('suspended');
    expect((await s.publish(boss, home.id)).status).toBe(PublicationStatus.ACTIVE);
    await s.page('changing');
  });

  test('of an archived workspace can still read; nothing new is published there', async () => {
    const { id } = await doc('Kept');
    await s.publish(boss, id);
    workspace.archived = true;
    await s.tell('workspace.updated');
    try {
      await s.page('kept');
      expect(await refusal(s.publish(boss, id))).toBe('workspace_archived');
    } finally {
      workspace.archived = false;
      await s.tell('workspace.updated');
    }
  });

  test('lose access when a publication expires', async () => {
    const { id } = await doc('Short');
    const expiresAt = new Date(Date.now() + 3000).toISOString();
    expect((await s.publish(boss, id, { expiresAt })).status).toBe(PublicationStatus.ACTIVE);
    const { revision } = await s.read('short');
    expect(revision?.validUntil).toBe(expiresAt);
    await new Promise((resolve) => setTimeout(resolve, Date.parse(expiresAt) - Date.now() + 5));
    expect(await s.read('short')).toMatchObject({ missing: { gone: true } });
    expect((await s.publication(boss, id)).status).toBe(PublicationStatus.EXPIRED);
    expect(await s.publish(boss, id)).toMatchObject({ status: PublicationStatus.ACTIVE, expiresAt: undefined });
  });

  test('are served on known hosts only, and never see the host that they sent', async () => {
    const { id } = await doc('Hosted', 'Text');
    await s.publish(boss, id);
    for (const host of ['evil.example', '127.0.0.1:9999', '127.0.0.1:8080.evil.example', '', 'a@127.0.0.1:8080']) {
      const response = await s.read('hosted', { address: { host, slug: 'hosted', proof: undefined } });
      expect(response).toMatchObject({ page: undefined, missing: { gone: false }, revision: { publicationId: '' } });
    }
    expect(JSON.stringify(await s.read('hosted'))).toContain('http://127.0.0.1:8080/p/hosted');
  });
});

describe('a document', () => {
  test('links into the publication only', async () => {
    const home = await folder('Links');
    const inside = await doc('Inside', 'x', home.id);
    const outside = await doc('Outside secret', 'y');
    const text = [
      `[go in](resource:${inside.id}#part) [go out](resource:${outside.id}) [web](https://example.com/)`,
      `![shot](resource:${outside.id}) ![far](https://example.com/a.png) @[Ann](user:${boss.userId})`,
      `[[resource:${outside.id}]] <a href="resource:${outside.id}">raw out</a> <a href="resource:${inside.id}">raw in</a>`,
      '<!-- a note for us --> <img src="https://example.com/b.png" alt="b">',
      `:::resource_link{resource_id=${outside.id} title="Outside secret"}\n:::`,
    ].join('\n\n');
    const page = await doc('Page', text, home.id);
    await s.publish(boss, home.id);
    const { tree } = await s.page('links');
    const at = (id: string) => tree.find((entry) => entry.id === id)?.path ?? '';
    const path = at(page.id).slice('/p/links/'.length);
    const { document } = await s.page('links', path);
    const html = document?.html ?? '';
    expect(html).toContain(`<a href="${at(inside.id)}#h-part"`);
    expect(html).toContain('<a href="https://example.com/"');
    expect(html).toMatch(new RegExp(`<a href="${at(inside.id)}"[^>]*>raw in</a>`));
    expect(html).toContain('go out');
    expect(html).toContain('@Ann');
    for (const secret of [outside.id, 'Outside secret', boss.userId, 'note for us']) expect(html).not.toContain(secret);
    expect(html).not.toMatch(/resource:|<img/);
    const { document: asText } = await s.page('links', path, { format: ReaderFormat.MARKDOWN });
    const markdown = asText?.markdown ?? '';
    expect(markdown).toContain(`[go in](http://127.0.0.1:8080${at(inside.id)}#part)`);
    for (const secret of [outside.id, 'Outside secret', boss.userId, 'note for us']) {
      expect(markdown).not.toContain(secret);
    }
    // A resource that is published later is linked from then on.
    await s.update(boss, outside.id, { updateMask: ['parent_id'], parentId: home.id });
    expect((await s.page('links', path)).document?.html).toMatch(
      /<a href="\/p\/links\/outside-secret-[0-9a-f]{12}"[^>]*>go out/,
    );
  });
});

describe('a pinned publication', () => {
  test('shows the pinned state until it is published again', async () => {
    const home = await folder('Pinned');
    const one = await doc('One', 'old words', home.id);
    const two = await doc('Two', 'two', home.id);
    const table = await s.create(boss, {
      type: ResourceType.TABLE,
      name: 'Table',
      parentId: home.id,
      columns: Buffer.from(JSON.stringify([{ id: 'a', name: 'A' }])),
      rows: Buffer.from(JSON.stringify([{ a: 'old cell' }])),
    });
    const published = await s.publish(boss, home.id, { mode: PublicationMode.PINNED });
    expect(published).toMatchObject({ pageCount: 4, mode: PublicationMode.PINNED });
    const tree = async () => (await s.page('pinned')).tree;
    const html = async (id: string) => {
      const path = (await tree()).find((entry) => entry.id === id)?.path ?? '';
      const { document, table: rows } = await s.page('pinned', path.slice('/p/pinned/'.length));
      return document?.html ?? JSON.stringify(rows);
    };
    await s.write(boss, one.id, 'new words');
    await s.update(boss, one.id, { updateMask: ['name'], name: 'Uno' });
    await doc('Three', 'three', home.id);
    const rows = [{ a: 'new cell' }];
    const request = ReplaceContentRequest.fromPartial({
      resourceId: table.id,
      columns: Buffer.from(JSON.stringify([{ id: 'a', name: 'A' }])),
      rows: Buffer.from(JSON.stringify(rows)),
    });
    const content = s.stage.host.client((await import('@commonplace/platform/contracts')).contracts.content);
    await content.replaceContent(request, await s.stage.as(boss));
    expect((await tree()).map(({ name }) => name)).toEqual(['Pinned', 'One', 'Two', 'Table']);
    expect(await html(one.id)).toContain('old words');
    expect(await html(table.id)).toContain('old cell');
    await restrict(two.id);
    expect((await tree()).map(({ name }) => name)).toEqual(['Pinned', 'One', 'Table']);
    await s.publish(boss, home.id);
    expect((await tree()).map(({ name }) => name)).toEqual(['Pinned', 'Uno', 'Table', 'Three']);
    expect(await html(one.id)).toContain('new words');
    expect(await html(table.id)).toContain('new cell');
    await s.publish(boss, home.id, { mode: PublicationMode.LIVE });
    await s.write(boss, one.id, 'newest words');
    expect(await html(one.id)).toContain('newest words');
  });
});

describe('a password', () => {
  const check = async (slug: string, password: string, clientIp = '192.0.2.1', proof?: string) =>
    s.reader.checkPublicationPassword(
      { address: { host: HOST, slug, proof, pass: undefined }, password, clientIp },
      await s.stage.as(undefined),
    );

  test('is required, replaced by a proof, and changed for all readers', async () => {
    const { id } = await doc('Locked', 'inside');
    const published = await s.publish(boss, id, { password: 'correct horse' });
    expect(published).toMatchObject({ isPasswordProtected: true, visibility: PublicationVisibility.PASSWORD });
    expect(JSON.stringify(published)).not.toContain('horse');
    const closed = await s.read('locked');
    expect(closed).toMatchObject({
      page: undefined,
      passwordRequired: { path: '/p/locked' },
      revision: { private: true },
    });
    expect(JSON.stringify(closed)).not.toContain('Locked');
    expect((await check('locked', 'wrong horse')).refused).toEqual({ retryAfterSeconds: 0, triesLeft: 9 });
    const { proof } = await check('locked', 'correct horse');
    const opened = await s.read('locked', {}, proof?.proof);
    expect(opened.page?.document?.html).toContain('inside');
    expect(await s.read('locked', {}, `${proof?.proof}x`)).toMatchObject({ passwordRequired: {} });
    await s.publish(boss, id, { password: 'battery staple' });
    expect(await s.read('locked', {}, proof?.proof)).toMatchObject({ page: undefined, passwordRequired: {} });
    expect(
      await refusal(s.publish(boss, id, { password: 'another one', visibility: PublicationVisibility.PUBLIC })),
    ).toBe('invalid_value');
    await s.publish(boss, id, { visibility: PublicationVisibility.PUBLIC });
    await s.page('locked');
  });

  test('can be tried ten times from one network', async () => {
    const { id } = await doc('Tried', 'inside');
    await s.publish(boss, id, { password: 'correct horse' });
    const answers = await Promise.all(Array.from({ length: 14 }, (_, i) => check('tried', `guess ${i}`, '192.0.2.9')));
    expect(answers.filter(({ refused }) => refused?.retryAfterSeconds === 0)).toHaveLength(10);
    const late = await check('tried', 'correct horse', '192.0.2.9');
    expect(late.proof).toBeUndefined();
    expect(late.refused?.retryAfterSeconds).toBeGreaterThan(500);
    expect((await check('tried', 'correct horse', '192.0.2.10')).proof).toBeDefined();
  });

  test('can be tried ten times from one IPv6 network, even if one attempt is correct', async () => {
    const { id } = await doc('Network', 'inside');
    await s.publish(boss, id, { password: 'correct horse' });
    const guesses = Array.from({ length: 60 }, (_, i) =>
      check('network', i === 59 ? 'correct horse' : `guess ${i}`, `2001:db8:0:1::${(i + 1).toString(16)}`),
    );
    const answers = await Promise.all(guesses);
    expect(answers.filter(({ refused }) => refused?.retryAfterSeconds === 0)).toHaveLength(10);
    expect(answers[59]?.proof).toBeUndefined();
    expect((await check('network', 'correct horse', '2001:db8:0:2::1')).proof).toBeDefined();
  });

  test('does not count correct attempts', async () => {
    const { id } = await doc('Often', 'inside');
    await s.publish(boss, id, { password: 'correct horse' });
    for (let i = 0; i < 15; i++) expect((await check('often', 'correct horse')).proof).toBeDefined();
  });

  test('has a limit for all networks, which does not affect readers who have opened it before', async () => {
    const { id } = await doc('Everywhere', 'inside');
    await s.publish(boss, id, { password: 'correct horse' });
    const { proof } = await check('everywhere', 'correct horse', '198.51.100.1');
    const answers: CheckPublicationPasswordResponse[] = [];
    for (let i = 0; i < 120; i += 20) {
      const some = Array.from({ length: 20 }, (_, n) => check('everywhere', 'guess', `2001:db8:${i + n + 1}::1`));
      answers.push(...(await Promise.all(some)));
    }
    expect(answers.filter(({ refused }) => refused?.retryAfterSeconds === 0)).toHaveLength(100);
    const stranger = await check('everywhere', 'correct horse', '203.0.113.9');
    expect(stranger.proof).toBeUndefined();
    // One attempt is released every 36 s, so nobody is locked out permanently.
    expect(stranger.refused?.retryAfterSeconds).toBeLessThanOrEqual(36);
    const known = await check('everywhere', 'correct horse', '203.0.113.10', proof?.proof);
    expect(known.proof).toBeDefined();
    await s.publish(boss, id, { password: 'battery staple' });
    const outdated = await check('everywhere', 'battery staple', '203.0.113.11', proof?.proof);
    expect(outdated.refused?.retryAfterSeconds).toBeGreaterThan(0);
  });
});

describe('a workspace', () => {
  test('is published as a whole, unpublished, and published again', async () => {
    const own = s.tenancy.workspace(org);
    own.roles.set(boss.userId, WorkspaceRole.OWNER);
    own.roles.set(editor.userId, WorkspaceRole.EDITOR);
    await s.tell('workspace_member.added');
    const top = await s.create(boss, { type: ResourceType.DOCUMENT, name: 'Top', workspaceId: own.id });
    const hidden = await s.create(boss, { type: ResourceType.DOCUMENT, name: 'Hidden', workspaceId: own.id });
    await restrict(hidden.id);
    expect(await refusal(s.publishWorkspace(editor, own.id))).toBe('insufficient_role');
    const made = await s.publishWorkspace(boss, own.id, { slug: 'whole-space' });
    expect(made).toMatchObject({ resourceId: undefined, workspaceId: own.id, pageCount: 2 });
    expect(await refusal(s.publishWorkspace(boss, own.id))).toBe('already_exists');
    const page = await s.page('whole-space');
    expect(page.tree.map(({ name }) => name)).toEqual(['Workspace', 'Top']);
    expect(page.folder?.children.map(({ id }) => id)).toEqual([top.id]);
    const down = await s.changeWorkspace(boss, own.id, { isActive: false });
    expect(down).toMatchObject({ status: PublicationStatus.UNPUBLISHED, slug: 'whole-space' });
    expect(await s.read('whole-space')).toMatchObject({ missing: { gone: true } });
    expect(await refusal(s.changeWorkspace(boss, own.id, {}))).toBe('no_update_field');
    expect(await s.changeWorkspace(boss, own.id, { isActive: true })).toMatchObject({
      status: PublicationStatus.ACTIVE,
    });
    await s.page('whole-space');
  });
});

describe('searching and listing', () => {
  test('finds words of the publication only', async () => {
    const home = await folder('Searched');
    await doc('Apples', 'All about zebrawood and *other* trees', home.id);
    await doc('Zebrawood', 'no word of it', home.id);
    const hidden = await doc('Secret zebrawood', 'zebrawood', home.id);
    await restrict(hidden.id);
    await doc('Elsewhere', 'zebrawood');
    await s.publish(boss, home.id);
    const address = { host: HOST, slug: 'searched', proof: undefined };
    const { pages } = await s.reader.searchPublication(
      { address, query: 'ZEBRAwood', limit: 0, offset: 0 },
      await s.stage.as(undefined),
    );
    expect(pages?.items.map(({ entry }) => entry?.name)).toEqual(['Zebrawood', 'Apples']);
    expect(pages?.items[1]?.excerpt).toContain('about zebrawood');
  });

  test('lists public publications that allow indexing', async () => {
    const home = await folder('Indexed');
    await doc('Page', 'x', home.id);
    const list = async (host = HOST) => {
      const { items } = await s.reader.listIndexed({ host, cursor: '', limit: 0 }, await s.stage.as(undefined));
      return items.map(({ url }) => url).filter((url) => url.includes('/p/indexed'));
    };
    const reply: Reply = {};
    await s.publish(boss, home.id, { allowIndexing: true }, {}, reply);
    expect(reply.warnings?.map(({ code }) => code)).toEqual(['not_listed']);
    expect(await list()).toEqual([]);
    await s.publish(boss, home.id, { visibility: PublicationVisibility.PUBLIC });
    const urls = await list();
    expect(urls).toHaveLength(2);
    expect(urls[0]).toBe('http://127.0.0.1:8080/p/indexed');
    expect(await list('evil.example')).toEqual([]);
    expect((await s.page('indexed')).indexed).toBe(true);
    await s.publish(boss, home.id, { allowIndexing: false });
    expect(await list()).toEqual([]);
  });

  test('counts opened pages', async () => {
    const { id } = await doc('Counted');
    const { id: publicationId } = await s.publish(boss, id);
    await s.reader.countViews({ items: [{ publicationId, views: 3 }] }, await s.stage.as(undefined));
    await s.reader.countViews({ items: [{ publicationId, views: 2 }] }, await s.stage.as(undefined));
    expect((await s.publication(boss, id)).viewCount).toBe(5);
  });
});
