import { AppError } from '@commonplace/kit/errors';
import { openTenantGuard } from '@commonplace/kit/fetch';
import { newId } from '@commonplace/kit/id';
import type { CallOptions } from '@commonplace/kit/rpc';
import { hostileTargets } from '@commonplace/kit/testing';
import type { ReplaceContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import type { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { describe, expect, test } from '@jest/globals';
import { lineDiff } from '../src/domain/line-diff.js';
import { checkWithin, type JsonSchema } from '../src/domain/schema-check.js';
import { scopesOf } from '../src/domain/scopes.js';
import { createArrangeTools } from '../src/engine/tools/arrange.js';
import { createCommentTools, mentionsIn } from '../src/engine/tools/comment.js';
import { createCreationTools } from '../src/engine/tools/create.js';
import { createRowTools } from '../src/engine/tools/rows.js';
import { InvalidArguments, type Tool, type ToolContext } from '../src/engine/tools/tool.js';
import { createWebTools, isWrittenIn } from '../src/engine/tools/web-fetch.js';
import { createWriteTools } from '../src/engine/tools/write.js';

const WORKSPACE = newId();

function resource(more: Partial<AccessibleResource> = {}): AccessibleResource {
  return {
    ...{ id: newId(), workspaceId: WORKSPACE, type: ResourceType.DOCUMENT, name: 'Page', icon: undefined, path: [] },
    ...{ updatedAt: undefined, tags: [], role: ResourceRole.EDITOR, contentVersion: 1, boundaryId: WORKSPACE },
    ...{ isShared: false, untrusted: [], ...more },
  };
}

/** Creates fakes of the services that tools call, and records all requested writes. */
function fakes(known: readonly AccessibleResource[], text = '') {
  const writes: { request: unknown; options: CallOptions }[] = [];
  const answers: (object | Error)[] = [];
  const write = async (request: unknown, options: CallOptions) => {
    writes.push({ request, options });
    const answer = answers.shift() ?? { id: newId(), name: 'X', changed: true, version: 2, trashedCount: 1 };
    if (answer instanceof Error) throw answer;
    return answer as never;
  };
  const parts = {
    index: {
      checkAccess: async ({ ids }: { ids: string[] }) => ({ resources: known.filter(({ id }) => ids.includes(id)) }),
      convertPage: async ({ html }: { html: string }) => ({ markdown: html, title: '' }),
    },
    content: {
      getContent: async () => ({ content: Buffer.from(JSON.stringify(text)) }) as never,
      replaceContent: (request: ReplaceContentRequest, options: CallOptions) => write(request, options),
    },
    resources: { createResource: write, updateResource: write, deleteResource: write },
    comments: { createComment: write },
  };
  return { parts: parts as never, writes, answers };
}

function contextWith(more: { toolCallId?: string; sourceIds?: string[]; question?: string; runId?: string } = {}) {
  const { toolCallId = '', sourceIds = [], question = '', runId = 'run' } = more;
  const context = {
    run: { id: runId, workspaceId: WORKSPACE, resourceIds: [], tenant: WORKSPACE },
    sources: { resourceIds: () => sourceIds },
    ...{ question, ownWords: question, toolCallId, signal: new AbortController().signal },
    acting: async () => ({ metadata: { requestId: 'req' }, deadline: Date.now() + 1000 }),
  };
  return context as unknown as ToolContext;
}

const named = (tools: readonly Tool[], name: string) => tools.find(({ schema }) => schema.name === name) as Tool;

describe('a tool that changes data', () => {
  const page = resource();

  test('sends one idempotency key for all attempts at a call, and another for each other call', async () => {
    const { parts, writes } = fakes([page]);
    const [tool] = createWriteTools(parts) as [Tool];
    const args = { resource_id: page.id, mode: 'append', markdown: 'x' };
    for (const [toolCallId, runId] of [
      ['run:1', 'run'],
      ['run:1', 'run'],
      ['run:2', 'run'],
      ['run:1', 'other'],
    ]) {
      await tool.call(args, contextWith({ toolCallId, runId }));
    }
    const [first, again, second, other] = writes.map(({ options }) => options.metadata.idempotency);
    expect(again).toEqual(first);
    expect(new Set([first?.id, second?.id, other?.id]).size).toBe(3);
    await expect(tool.call(args, contextWith())).rejects.toThrow('only planned');
  });

  test('waits for a call that another worker has made and that is still running', async () => {
    const { parts, writes, answers } = fakes([page]);
    const running = new AppError('ABORTED', 'idempotency_in_progress', 'It still runs.');
    answers.push(running, running, { changed: true, version: 9 });
    const [tool] = createWriteTools(parts) as [Tool];
    const args = { resource_id: page.id, mode: 'append', markdown: 'x' };
    expect((await tool.call(args, contextWith({ toolCallId: 'a' }))).text).toContain('version 9');
    expect(writes).toHaveLength(3);
  });

  test('reports conflicts to the model, and rethrows other errors', async () => {
    const { parts, answers } = fakes([page]);
    const [tool] = createWriteTools(parts) as [Tool];
    const args = { resource_id: page.id, mode: 'append', markdown: 'x' };
    answers.push(new AppError('ABORTED', 'resource_locked', 'It is locked.'));
    expect(await tool.call(args, contextWith({ toolCallId: 'a' }))).toMatchObject({
      isError: true,
      text: 'It is locked.',
    });
    answers.push(new AppError('UNAVAILABLE', 'service_unavailable', 'Not now.'));
    await expect(tool.call(args, contextWith({ toolCallId: 'b' }))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('does not leave the workspace of its run', async () => {
    const elsewhere = resource({ workspaceId: newId() });
    const { parts, writes } = fakes([elsewhere]);
    const tools = [...createWriteTools(parts), ...createArrangeTools(parts), ...createCommentTools(parts)];
    const args = { resource_id: elsewhere.id, mode: 'append', markdown: 'x', name: 'New', body: 'x' };
    for (const tool of tools.filter(({ schema }) => schema.name !== 'trash_resource')) {
      await expect(tool.call(args, contextWith({ toolCallId: 'a' }))).rejects.toThrow('There is no resource');
    }
    const create = named(createCreationTools(parts), 'create_resource');
    const inside = { type: 'folder', name: 'X', parent_id: elsewhere.id };
    await expect(create.call(inside, contextWith({ toolCallId: 'a' }))).rejects.toThrow('There is no resource');
    expect(writes).toEqual([]);
  });
});

describe('a plan', () => {
  const open = resource({ name: 'Open' });
  const shared = resource({ name: 'Shared', isShared: true });
  const secret = resource({ boundaryId: newId(), name: 'Secret' });

  test.each([
    ['nothing was read', [], open, false],
    ['the same people read both', [open.id], open, false],
    ['fewer people read the source', [open.id, secret.id], open, true],
    ['a source is not readable any more', [newId()], open, true],
    ['others were given the target', [], shared, true],
  ])('of a write is a sink depending on what it passes on: %s', async (_, sourceIds, target, isSink) => {
    const { parts } = fakes([open, shared, secret]);
    const [tool] = createWriteTools(parts) as [Tool];
    const args = { resource_id: target.id, mode: 'append', markdown: 'x' };
    expect(await tool.plan(args, contextWith({ sourceIds }))).toMatchObject({ isSink, effect: 'idempotent' });
  });

  test('of a move is a sink if the new place has other readers', async () => {
    const folder = resource({ type: ResourceType.FOLDER, name: 'Folder' });
    const { parts } = fakes([open, secret, folder]);
    const tool = named(createArrangeTools(parts), 'arrange_resource');
    const plan = (id: string) => tool.plan({ resource_id: id, parent_id: folder.id }, contextWith());
    expect(await plan(open.id)).toMatchObject({ isSink: false, risk: 'medium' });
    expect(await plan(secret.id)).toMatchObject({ isSink: true, preview: { targets: ['Secret', 'Folder'] } });
  });

  test('names what is deleted, and is a sink', async () => {
    const table = resource({ type: ResourceType.TABLE, name: 'Table' });
    const { parts } = fakes([open, table]);
    const trash = named(createArrangeTools(parts), 'trash_resource');
    expect(await trash.plan({ resource_id: open.id }, contextWith())).toMatchObject({
      ...{ action: 'delete', risk: 'high', isSink: true },
      title: 'Move “Open” with everything below it to the trash',
    });
    const rows = named(createRowTools(parts), 'delete_rows');
    expect(await rows.plan({ resource_id: table.id, row_ids: ['r1'] }, contextWith())).toMatchObject({
      ...{ action: 'delete', risk: 'high', isSink: true },
      preview: { text: '```diff\n-r1\n```', targets: ['Table'] },
    });
  });

  test('shows what an edit changes', async () => {
    const { parts } = fakes([open], 'one\ntwo\nthree');
    const [tool] = createWriteTools(parts) as [Tool];
    const args = { resource_id: open.id, mode: 'edit', edits: [{ old_text: 'two', new_text: 'zwei' }] };
    const { preview, risk } = await tool.plan(args, contextWith());
    expect([preview.text, risk]).toEqual(['```diff\n one\n-two\n+zwei\n three\n```', 'medium']);
    // Repeated after a crash, the passage is replaced already.
    const gone = { ...args, edits: [{ old_text: 'four', new_text: 'vier' }] };
    expect((await tool.plan(gone, contextWith())).preview.text).not.toContain('vier');
    const tenfold = { old_text: 'o', new_text: 'o'.repeat(10), replace_all: true };
    const long = { ...args, edits: Array.from({ length: 20 }, () => tenfold) };
    await expect(tool.plan(long, contextWith())).rejects.toThrow('too long');
  });

  test.each([
    ['no text', '', false],
    ['10,000 characters', '😀'.repeat(10_000), true],
    ['10,001 characters', 'x'.repeat(10_001), false],
  ])('of a comment with %s is made if it follows the schema', async (_, body, follows) => {
    const { parts } = fakes([open]);
    const [tool] = createCommentTools(parts) as [Tool];
    const args = { resource_id: open.id, body };
    const plan = tool.plan(args, contextWith()).then(
      () => true,
      (error) => {
        if (error instanceof InvalidArguments) return false;
        throw error;
      },
    );
    expect(await plan).toBe(follows);
    expect(checkWithin(5_000, tool.schema.parameters as JsonSchema, args)).toMatchObject({
      fault: follows ? undefined : expect.stringContaining('body'),
    });
  });

  test('of a comment names the people whom it mentions and notifies', async () => {
    const { parts } = fakes([open]);
    const [tool] = createCommentTools(parts) as [Tool];
    const body = 'Look, @[Ada](user:7) and @[Ada](user:7)!';
    expect(mentionsIn(body)).toEqual(['Ada (7)']);
    expect(await tool.plan({ resource_id: open.id, body }, contextWith())).toMatchObject({
      ...{ isSink: true, risk: 'medium' },
      preview: { recipients: ['Ada (7)'] },
    });
  });
});

describe('web_fetch', () => {
  const guard = openTenantGuard({
    listOf: async () => [],
    resolve: async () => [{ address: '10.0.0.1', family: 4 }],
  });
  const settings = { webFetchBytes: 1000, webFetchSeconds: 5, webFetchLength: 1000 };
  const [tool] = createWebTools({ guard, settings, ...({} as object) } as never) as [Tool];

  test.each(hostileTargets(4430))('does not call %s', async (url) => {
    const called = Promise.resolve()
      .then(() => tool.call({ url }, contextWith()))
      .then(({ isError }) => isError);
    // Either the address is refused as it is written, or where it leads to.
    const outcome = await called.catch((error: Error) => error.constructor.name);
    expect([true, 'InvalidArguments']).toContain(outcome);
  });

  test('does not call a name that resolves to an address that is not public', async () => {
    const result = await tool.call({ url: 'https://rebound.example/' }, contextWith());
    expect(result).toMatchObject({ isError: true, taints: [{ type: 'web', name: 'rebound.example' }] });
    expect(result.text).toContain('not public');
  });

  test.each([
    ['See https://a.example/x.', 'https://a.example/x', true],
    ['See <https://a.example/x>, please', 'https://a.example/x', true],
    ['https://a.example/x', 'https://a.example/x', true],
    ['See https://a.example/x', 'https://a.example/x?leak=1', false],
    ['See https://a.example/xyz', 'https://a.example/x', false],
    ['See https://a.example/x?b', 'https://a.example/x', false],
    ['', 'https://a.example/x', false],
  ])('is a sink unless the person has written the address: %j, %s', async (question, url, isWritten) => {
    expect(isWrittenIn(question, url)).toBe(isWritten);
    expect((await tool.plan({ url }, contextWith({ question }))).isSink).toBe(!isWritten);
  });
});

describe('the scopes of a run', () => {
  const all = ['search:read', 'resource:read', 'resource:write', 'content:read', 'content:write', 'comment:write'];

  test.each([
    [['search', 'read'], 'editor', ['search:read', 'resource:read', 'content:read']],
    [['write', 'comment'], 'viewer', ['resource:read', 'content:read']],
    [['write', 'comment'], 'commenter', ['resource:read', 'content:read', 'comment:write']],
    [['write', 'create'], 'editor', ['resource:read', 'resource:write', 'content:read', 'content:write']],
    [['write'], undefined, []],
  ] as const)('are what the tools %j need and a %s may do', (groups, role, expected) => {
    expect(scopesOf(all, groups, role)).toEqual(expected);
  });

  test('are never more than the credential has', () => {
    expect(scopesOf(['content:read'], ['write', 'create'], 'editor')).toEqual(['content:read']);
  });
});

describe('a diff', () => {
  test.each([
    ['a\nb', 'a\nb', ' …'],
    ['a', 'b', '-a\n+b'],
    ['1\n2\n3\n4\n5\n6', '1\n2\n3\n4\n5\nsix', ' …\n 4\n 5\n-6\n+six'],
    ['a\nb\nc', 'a\nx\nb\nc\ny', ' a\n+x\n b\n c\n+y'],
    ['', 'a', '-\n+a'],
  ])('from %j to %j shows the changes', (before, after, expected) => {
    expect(lineDiff(before, after, 1000)).toBe(expected);
  });

  test('is cut, and does not compare texts of many lines', () => {
    const long = Array.from({ length: 5000 }, (_, i) => `line ${i}`);
    const text = lineDiff(long.join('\n'), [...long].reverse().join('\n'), 500);
    expect(text).toContain('more characters');
    expect(text.length).toBeLessThan(600);
  });

  test('compares 400 changed lines at most, as the time grows with their square', () => {
    const changed = (count: number, sign: string) =>
      Array.from({ length: count }, (_, i) => (i === 200 ? 'same' : `${sign} ${i}`)).join('\n');
    const shown = (count: number) => lineDiff(changed(count, 'old'), changed(count, 'new'), 20_000).split('\n');
    expect(shown(400)).toContain(' same');
    expect(shown(401)).toEqual(expect.arrayContaining(['-same', '+same']));
  });
});
