import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { type Person, signUp } from '../src/people.js';
import type { Content, List, Resource, Snapshot, SnapshotContent, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

const WRITERS = 20;

let system: System;
let boss: Api;
let workspace: Workspace;
let people: Person[];

beforeAll(async () => {
  system = await standingSystem();
  boss = api(system, system.owner.apiKey);
  workspace = (await boss.post<Workspace>('/workspaces', { name: 'Content' })).data;
  people = await Promise.all(Array.from({ length: WRITERS }, (_, i) => signUp(system, `Writer ${i}`)));
  for (const { user } of people) {
    await boss.post(`/workspaces/${workspace.id}/members`, { user_id: user.id, role: 'editor' });
  }
});

async function create(fields: object): Promise<string> {
  const body = { name: 'New', workspace_id: workspace.id, ...fields };
  return (await boss.post<Resource>('/resources', body)).data.id;
}

const newDocument = (content: string) => create({ type: 'document', content });

async function snapshotsOf(id: string): Promise<readonly Snapshot[]> {
  return (await boss.get<List<Snapshot>>(`/resources/${id}/snapshots?limit=200`)).data.items;
}

async function textsKept(id: string): Promise<string[]> {
  const texts: string[] = [];
  for (const snapshot of await snapshotsOf(id)) {
    texts.push((await boss.get<SnapshotContent>(`/resources/${id}/snapshots/${snapshot.id}`)).data.content);
  }
  return texts;
}

describe('twenty people on one document', () => {
  test('with a base, exactly one wins each version', async () => {
    const id = await newDocument('Text 0');
    const path = `/resources/${id}/content`;
    for (let version = 1; version <= 3; version++) {
      const answers = await Promise.all(
        people.map((person, i) =>
          person.patch<Content>(path, { content: `Text ${i} of ${version}`, base_version: version }),
        ),
      );
      const won = answers.filter(({ status }) => status === 200);
      expect(won.map(({ data }) => data.version)).toEqual([version + 1]);
      const lost = answers.filter(({ status }) => status !== 200);
      expect(lost.map(({ status, error }) => [status, error.code])).toEqual(
        Array.from({ length: WRITERS - 1 }, () => [409, 'version_conflict']),
      );
      expect(lost[0]?.error.details).toMatchObject({ current_version: version + 1 });
      expect((await boss.get<Content>(path)).data.content).toBe(won[0]?.data.content);
    }
  });

  test('without one, all win in some order and every replaced text is in a snapshot', async () => {
    const id = await newDocument('The first text');
    const path = `/resources/${id}/content`;
    const answers = await Promise.all(people.map((person, i) => person.patch<Content>(path, { content: `Text ${i}` })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(answers.map(({ data }) => data.version).sort((a, b) => a - b)).toEqual(people.map((_, i) => i + 2));
    expect(answers.every(({ data }) => data.replaced_version === data.version - 1)).toBe(true);
    const { content, version } = (await boss.get<Content>(path)).data;
    expect(version).toBe(WRITERS + 1);
    const everything = ['The first text', ...people.map((_, i) => `Text ${i}`)];
    expect([...(await textsKept(id)), content].sort()).toEqual([...everything].sort());
    const versions = (await snapshotsOf(id)).map((one) => one.content_version);
    expect(versions).toEqual(people.map((_, i) => WRITERS - i));
  });

  test('everything that they append, prepend and edit is stored', async () => {
    const marks = people.map((_, i) => `(${i})`);
    const id = await newDocument(marks.join(' '));
    const path = `/resources/${id}/content`;
    const answers = await Promise.all(
      people.map((person, i) => {
        const mode = ['append', 'prepend', 'edit'][i % 3];
        const edits = [{ old_text: marks[i], new_text: `[${i}]` }];
        return person.patch<Content>(path, mode === 'edit' ? { mode, edits } : { mode, content: `Added ${i}` });
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const { content } = (await boss.get<Content>(path)).data;
    const expected = people.map((_, i) => (i % 3 === 2 ? `[${i}]` : `Added ${i}`));
    expect(expected.filter((piece) => !content.includes(piece))).toEqual([]);
    expect(content.split('\n\n')).toHaveLength(1 + expected.filter((piece) => piece.startsWith('Added')).length);
    const without = await boss.patch(path, { mode: 'edit', edits: [{ old_text: 'Added' }] });
    expect([without.status, without.error.code, without.error.param]).toEqual([
      400,
      'missing_field',
      'edits[0].new_text',
    ]);
    const again = await boss.patch(path, { mode: 'edit', edits: [{ old_text: 'Added', new_text: 'More' }] });
    expect([again.status, again.error.code]).toEqual([409, 'edit_not_applicable']);
    expect(again.error.details).toMatchObject([{ param: 'edits[0].old_text' }]);
  });
});

describe('a document', () => {
  test('is written and read in any format, and the format last written is read back unchanged', async () => {
    const id = await newDocument('# Title\n\nSome *words*.');
    const path = `/resources/${id}/content`;
    const doc = (await boss.get<{ content: { content: { id: string; type: string }[] } }>(`${path}?format=json`)).data;
    expect(doc.content.content.map(({ type }) => type)).toEqual(['heading', 'paragraph']);
    const same = await boss.patch<Content>(path, { document: doc.content });
    expect(same.data).toMatchObject({ changed: false, version: 1, format: 'json' });
    const html = '<h2>Other</h2>\n<p onclick="run()">text</p>';
    const written = await boss.patch<Content>(path, { html });
    expect(written.data).toMatchObject({ format: 'html', content: html, version: 2, changed: true });
    expect(written.body.warnings?.map(({ code }) => code)).toEqual(['html_removed']);
    expect((await boss.get<Content>(`${path}?format=html`)).data.content).toBe(html);
    expect((await boss.get<Content>(path)).data).toMatchObject({ format: 'markdown', content: '## Other\n\ntext\n' });
    expect((await boss.get<Content>(`${path}?format=text&version=1`)).data.content).toContain('Some words.');
  });

  test('nested as deep as blocks may be is written back as it was read', async () => {
    const content = `${'> '.repeat(300)}deep\n`;
    const id = await newDocument(content);
    const read = (await boss.get<{ content: object }>(`/resources/${id}/content?format=json`)).data.content;
    const written = await boss.patch<{ changed: boolean }>(`/resources/${id}/content`, { content: read });
    expect([written.status, written.data.changed]).toEqual([200, false]);
    const copy = await create({ type: 'document', content: read });
    expect((await boss.get<{ content: object }>(`/resources/${copy}/content`)).data.content).toBe(content);
    expect((await boss.patch(`/resources/${id}`, { metadata: read })).error.code).toBe('invalid_json');
  });

  test('that is invalid is refused with all its errors, and a folder has no content', async () => {
    const id = await newDocument('One');
    const path = `/resources/${id}/content`;
    const wrong = await boss.patch(path, { document: { type: 'doc', content: [{ type: 1 }, {}] } });
    expect([wrong.status, wrong.error.code]).toEqual([400, 'validation_failed']);
    expect(wrong.error.details).toMatchObject([
      { param: 'document.content[0].type' },
      { param: 'document.content[1].type' },
    ]);
    const twice = await boss.patch(path, { content: 'a', markdown: 'b' });
    expect([twice.status, twice.error.code, twice.error.param]).toEqual([400, 'conflicting_alias', 'markdown']);
    const folder = await create({ type: 'folder' });
    for (const answer of [
      await boss.get(`/resources/${folder}/content`),
      await boss.patch(`/resources/${folder}/content`, { content: 'a' }),
      await boss.get(`/resources/${folder}/snapshots`),
    ]) {
      expect([answer.status, answer.error.code]).toEqual([400, 'content_not_supported']);
    }
    expect((await boss.get<Content>(path)).data).toMatchObject({ version: 1, content: 'One' });
  });
});

describe('an artifact', () => {
  test('is created with its content, replaced, archived in snapshots and restored', async () => {
    const content = { artifact_type: 'html', source: '<h1>One</h1>', title: 'Page' };
    const id = await create({ type: 'artifact', content });
    const path = `/resources/${id}/content`;
    expect((await boss.get(path)).data).toMatchObject({ ...content, version: 1, type: 'artifact' });
    const written = await boss.patch<Content>(path, { source: '<h1>Two</h1>' });
    expect(written.data).toMatchObject({ artifact_type: 'html', source: '<h1>Two</h1>', version: 2, changed: true });
    const back = await boss.patch<Content>(path, { snapshot_id: written.data.snapshot_id });
    expect(back.data).toMatchObject({ ...content, version: 3 });
    const kept = await boss.get(`/resources/${id}/snapshots/${back.data.snapshot_id}?diff_to=current`);
    expect(kept.data).toMatchObject({
      source: '<h1>Two</h1>',
      reason: 'before_restore',
      diff: { added: 1, removed: 1 },
    });
  });

  test('that is invalid is not created, and all errors are reported', async () => {
    const assets = [{ name: 'x', resource_id: workspace.id }];
    const content = { artifact_type: 'html', title: 7, assets };
    const body = { type: 'artifact', name: 'Bad one', workspace_id: workspace.id, content };
    const { status, error } = await boss.post('/resources', body);
    expect([status, error.code]).toEqual([400, 'validation_failed']);
    expect(error.details).toMatchObject([
      { param: 'content.source', code: 'missing_field' },
      { param: 'content.title', code: 'invalid_type' },
      { param: 'content.assets[0].resource_id', code: 'invalid_value' },
    ]);
    expect((await boss.get(`/workspaces/${workspace.id}/resources?q=Bad%20one`)).page.total).toBe(0);
  });
});

describe('the content of a response', () => {
  test('every kind has its format, and an artifact has all of its fields', async () => {
    const table = await create({ type: 'table' });
    const artifact = await create({ type: 'artifact', content: { artifact_type: 'svg', source: '<svg/>' } });
    const document = await newDocument('Text');
    const read = async (id: string, query = '') =>
      (await boss.get<Record<string, unknown>>(`/resources/${id}/content${query}`)).data;
    expect(await read(table)).toMatchObject({ type: 'table', format: 'table' });
    const empty = { language: null, title: null, entry: null, assets: [] };
    const whole = { type: 'artifact', format: 'artifact', artifact_type: 'svg', source: '<svg/>', ...empty };
    expect(await read(artifact)).toMatchObject(whole);
    expect(Object.keys(await read(document))).not.toContain('language');
    const kept = (await boss.post<Snapshot>(`/resources/${artifact}/snapshots`, {})).data;
    const snapshot = await boss.get<Record<string, unknown>>(`/resources/${artifact}/snapshots/${kept.id}`);
    expect(snapshot.data).toMatchObject({ format: 'artifact', ...empty });
    const refused = await boss.get(`/resources/${document}/content?format=table`);
    expect([refused.status, refused.error.code]).toEqual([400, 'unsupported_format']);
  });

  test('a change that contains only dry_run changes nothing, and is refused', async () => {
    const id = await newDocument('Text');
    const refused = await boss.patch(`/resources/${id}`, { dry_run: true });
    expect([refused.status, refused.error.code]).toEqual([400, 'no_update_field']);
  });
});
