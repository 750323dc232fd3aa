import type { Caller } from '@commonplace/kit/auth';
import type { Reply } from '@commonplace/kit/rpc';
import {
  type Content,
  ContentFormat,
  ContentMode,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ResourceInclude } from '@commonplace/proto/resources/v1/resource_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;
let editor: Caller;
beforeAll(async () => {
  world = await openWorld();
  editor = world.member(WorkspaceRole.EDITOR);
});
afterAll(() => world.stage.close());

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const document = (content: unknown) => world.create(editor, { type: ResourceType.DOCUMENT, content: json(content) });
const bodyOf = ({ content }: Pick<Content, 'content'>) => JSON.parse(content.toString());

async function send(id: string, fields: Partial<ReplaceContentRequest>, reply: Reply = {}): Promise<Content> {
  const request = ReplaceContentRequest.fromPartial({ resourceId: id, ...fields } as never);
  return world.content.replaceContent(request, await world.stage.as(editor, {}, reply));
}

async function read(id: string, format = ContentFormat.UNSPECIFIED) {
  const request = GetContentRequest.fromPartial({ resourceId: id, format });
  return bodyOf(await world.content.getContent(request, await world.stage.as(editor)));
}

interface Block {
  readonly id?: string;
  readonly type: string;
  readonly content?: readonly Block[];
}
const idsOf = (doc: Block) => (doc.content ?? []).map(({ id }) => id);
const paragraph = (text: string, id?: string) => ({ id, type: 'paragraph', content: [{ type: 'text', text }] });

const MARKDOWN = '# Title\r\n\r\nSome *words*\tand\u00a0more.\n\n\n- a\n- b\n';
const HTML = '<h1>Title</h1>\n<p onclick="x()">Some <b>words</b></p>';

describe('the text that was written last', () => {
  test.each([
    ['Markdown', { content: json(MARKDOWN) }, ContentFormat.MARKDOWN, MARKDOWN],
    ['Markdown by its name', { markdown: MARKDOWN }, ContentFormat.MARKDOWN, MARKDOWN],
    ['HTML', { content: json(HTML), format: ContentFormat.HTML }, ContentFormat.HTML, HTML],
    ['HTML by its name', { html: HTML }, ContentFormat.HTML, HTML],
    ['text', { content: json('a *b*\n'), format: ContentFormat.TEXT }, ContentFormat.TEXT, 'a *b*\n'],
    [
      'JSON',
      { content: json({ type: 'doc', content: [paragraph('a')] }) },
      ContentFormat.JSON,
      { type: 'doc', content: [paragraph('a')] },
    ],
    [
      'JSON by its name',
      { document: json({ type: 'doc', content: [] }) },
      ContentFormat.JSON,
      { type: 'doc', content: [] },
    ],
  ])('as %s reads back and is returned unchanged', async (_, fields, format, expected) => {
    const { id } = await document('Something else');
    const written = await send(id, fields);
    expect([written.format, written.changed]).toEqual([format, true]);
    expect(bodyOf(written)).toEqual(JSON.parse(JSON.stringify(expected)));
    expect(await read(id, format)).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  test.each([ContentFormat.MARKDOWN, ContentFormat.JSON, ContentFormat.HTML, ContentFormat.TEXT])(
    'written back as it reads in %s changes nothing',
    async (format) => {
      const written = {
        type: 'doc',
        content: [paragraph('One'), { type: 'heading', attrs: { level: 2 }, content: [{ type: 'text', text: 'Two' }] }],
      };
      for (const content of [MARKDOWN, written]) {
        const { id } = await document(content);
        const same = await send(id, {
          content: json(await read(id, format)),
          ...(format === ContentFormat.JSON ? {} : { format }),
        });
        expect(same).toMatchObject({ changed: false, version: 1, snapshotId: undefined });
      }
    },
  );

  test('can be read in the other formats', async () => {
    const { id } = await document('# Title\n\nSome *words*.');
    expect(await read(id, ContentFormat.TEXT)).toContain('Title');
    expect(await read(id, ContentFormat.TEXT)).not.toContain('*');
    expect(await read(id, ContentFormat.HTML)).toMatch(/<h1[^>]*>Title<\/h1>/);
    const doc = await read(id, ContentFormat.JSON);
    expect(doc.content.map(({ type }: Block) => type)).toEqual(['heading', 'paragraph']);
    expect(idsOf(doc).every((id) => typeof id === 'string')).toBe(true);
    await send(id, { html: '<p>As <strong>HTML</strong></p>' });
    expect(await read(id)).toBe('As **HTML**\n');
    const { content } = await world.resources.getResource(
      { resourceId: id, include: [ResourceInclude.CONTENT], includeTrashed: false },
      await world.stage.as(editor),
    );
    expect(content).toBe('As **HTML**\n');
  });

  test('is searched as Markdown', async () => {
    const { id } = await document({ type: 'doc', content: [paragraph('needle')] });
    const { entries } = await world.index.getIndexEntries({ ids: [id], mostBytes: 0 }, await world.stage.as(undefined));
    expect(entries[0]?.text.trim()).toBe('needle');
  });
});

describe('block ids', () => {
  test('that were returned survive changes in Markdown', async () => {
    const { id } = await document('One.\n\nTwo is here.\n\nThree.');
    const before = idsOf(await read(id, ContentFormat.JSON));
    await send(id, { content: json('New.\n\nOne.\n\nTwo is still here.\n\nThree.') });
    const after = idsOf(await read(id, ContentFormat.JSON));
    expect(after.slice(1)).toEqual(before);
    expect(before).not.toContain(after[0]);
  });

  test('that a writer chose are kept', async () => {
    const { id } = await document({ type: 'doc', content: [paragraph('One', 'mine')] });
    await send(id, { content: json('Zero\n\nOne') });
    expect(idsOf(await read(id, ContentFormat.JSON))[1]).toBe('mine');
  });

  test('are restored with a snapshot', async () => {
    const { id } = await document('One.\n\nTwo.');
    const before = idsOf(await read(id, ContentFormat.JSON));
    const { snapshotId } = await send(id, { content: json('Something else.') });
    await send(id, { snapshotId } as never);
    expect(idsOf(await read(id, ContentFormat.JSON))).toEqual(before);
  });
});

describe('appended content', () => {
  const append = { mode: ContentMode.APPEND };

  test('in JSON keeps the document JSON, and the ids of its blocks', async () => {
    const { id } = await document({ type: 'doc', content: [paragraph('One', 'first')] });
    await send(id, { ...append, content: json('Two **bold**') });
    const doc = await read(id, ContentFormat.JSON);
    expect(idsOf(doc)[0]).toBe('first');
    expect(await read(id)).toBe('One\n\nTwo **bold**\n');
  });

  test('in another format becomes Markdown', async () => {
    const { id } = await document('One');
    await send(id, { ...append, html: '<p>Two <em>more</em></p>' });
    expect(await read(id)).toBe('One\n\nTwo *more*\n');
    const other = await document('');
    await send(other.id, { html: '<p>One</p>' });
    await send(other.id, { ...append, html: '<p>Two</p>' });
    expect(await read(other.id, ContentFormat.HTML)).toBe('<p>One</p>\n<p>Two</p>');
  });
});

describe('an invalid document', () => {
  test('reports all faults under the names of the request', async () => {
    const { id } = await document('One');
    const wrong = { type: 'doc', content: [{ type: 7 }, { type: 'paragraph', id: '$' }] };
    for (const [fields, param] of [
      [{ content: json(wrong) }, 'content'],
      [{ document: json(wrong) }, 'document'],
    ] as const) {
      await expect(send(id, fields)).rejects.toMatchObject({
        reason: 'validation_failed',
        faults: [{ param: `${param}.content[0].type` }, { param: `${param}.content[1].id` }],
      });
    }
    expect(await read(id)).toBe('One');
  });

  test.each([
    ['a string as JSON', { content: json('x'), format: ContentFormat.JSON }, 'invalid_type', 'content'],
    [
      'an object as Markdown',
      { content: json({ type: 'doc' }), format: ContentFormat.MARKDOWN },
      'invalid_value',
      'format',
    ],
    ['Markdown as HTML', { markdown: 'x', format: ContentFormat.HTML }, 'invalid_value', 'format'],
    [
      'edits of JSON',
      {
        edits: [{ oldText: 'One', newText: 'x', replaceAll: false }],
        mode: ContentMode.EDIT,
        format: ContentFormat.JSON,
      },
      'invalid_value',
      'format',
    ],
    ['too many blocks', { content: json('a\n\n'.repeat(20_001)) }, 'payload_too_large', 'content'],
    ['too many lists within lists', { markdown: `${'- '.repeat(60)}a\n`.repeat(200) }, 'payload_too_large', 'markdown'],
    [
      'too many quotes in JSON text',
      { content: json(`${'>'.repeat(60)}a\n\n`.repeat(800)) },
      'payload_too_large',
      'content',
    ],
    ['too many lists after tabs', { content: json('1.\t-\t*\ta\n'.repeat(4000)) }, 'payload_too_large', 'content'],
    ['too many footnotes', { markdown: '[^a]: > - b\n\n'.repeat(4001) }, 'payload_too_large', 'markdown'],
    ['too many items between carriage returns', { markdown: '- a\r'.repeat(10_001) }, 'payload_too_large', 'markdown'],
    [
      'too large JSON',
      { content: json({ type: 'doc', content: [paragraph('x'.repeat(8 << 20))] }) },
      'payload_too_large',
      'content',
    ],
  ])('is refused because of %s', async (_, fields, reason, param) => {
    const { id } = await document('One');
    const modes = 'edits' in fields ? [fields.mode] : [ContentMode.REPLACE, ContentMode.APPEND];
    for (const mode of modes) {
      await expect(send(id, { ...fields, mode } as never)).rejects.toMatchObject({ reason, param });
    }
    expect(await read(id)).toBe('One');
  });

  test('fails its whole creation', async () => {
    const name = 'Wrong document';
    const creation = world.create(editor, { type: ResourceType.DOCUMENT, name, content: json({ type: 'page' }) });
    await expect(creation).rejects.toMatchObject({ reason: 'invalid_value', param: 'content.type' });
    expect((await world.list(editor, { q: name })).total).toBe(0);
  });
});

test('warns of what derived formats leave out and of unknown nodes', async () => {
  const { id } = await document('One');
  const codes = async (fields: object) => {
    const reply: Reply = {};
    await send(id, fields, reply);
    return reply.warnings?.map(({ code }) => code) ?? [];
  };
  expect(await codes({ content: json('plain') })).toEqual([]);
  expect(await codes({ content: json('[x](javascript:alert(1))') })).not.toEqual([]);
  expect(await codes({ html: '<p>a</p><script>x</script>' })).not.toEqual([]);
  expect(await codes({ document: json({ type: 'doc', content: [{ type: 'sparkline', values: [1] }] }) })).not.toEqual(
    [],
  );
  expect(await read(id, ContentFormat.JSON)).toEqual({ type: 'doc', content: [{ type: 'sparkline', values: [1] }] });
  const reply: Reply = {};
  await world.create(editor, { type: ResourceType.DOCUMENT, content: json('<script>x</script>') }, {}, reply);
  expect(reply.warnings).toBeDefined();
});
