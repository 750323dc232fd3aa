import type { SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { expect, test } from '@jest/globals';
import { admitting, entry, everythingIn, ORG, type Use, WORKSPACE } from './harness.js';

const person = (id: string) => ({ type: 'ACTOR_TYPE_USER' as never, id, name: id });

export function filterDuties(use: Use): void {
  test('admit everything in an open workspace, and nothing of others', async () => {
    const { hold, ids, ask } = use();
    await hold(
      entry('a', { text: 'word' }),
      entry('restricted', { text: 'word', boundaryId: 'restricted' }),
      entry('elsewhere', { text: 'word', workspaceId: 'ws-2' }),
      entry('foreign', { text: 'word', workspaceId: 'ws-9', tenant: 'org-2' }),
    );
    expect((await ids('word')).sort()).toEqual(['a', 'restricted']);
    expect((await ids('word', { filter: everythingIn(WORKSPACE, 'ws-2') })).sort()).toEqual([
      'a',
      'elsewhere',
      'restricted',
    ]);
    expect(await ids('word', { filter: everythingIn('ws-9') })).toEqual(['foreign']);
    const notSearched = { ...everythingIn('ws-2'), openWorkspaceIds: [WORKSPACE, 'ws-2'] };
    expect(await ask('word', { filter: notSearched })).toMatchObject({ total: 1, hits: [{ id: 'elsewhere' }] });
  });

  test('admit what lies within a boundary, except further boundaries below', async () => {
    const { hold, ids } = use();
    await hold(
      entry('plain', { text: 'word' }),
      entry('secret', { text: 'word', boundaryId: 'secret' }),
      entry('below', { text: 'word', boundaryId: 'secret', ancestorIds: ['secret'] }),
      entry('deeper', { text: 'word', boundaryId: 'deeper', ancestorIds: ['secret', 'below'] }),
    );
    expect(await ids('word', { filter: admitting({ boundaryIds: [WORKSPACE] }) })).toEqual(['plain']);
    expect((await ids('word', { filter: admitting({ boundaryIds: ['secret'] }) })).sort()).toEqual(['below', 'secret']);
    expect(await ids('word', { filter: admitting({}) })).toEqual([]);
  });

  test('admit items of direct principals by whole names only', async () => {
    const { hold, ids } = use();
    await hold(
      entry('mine', { text: 'word', boundaryId: 'b', directPrincipals: ['user:1', 'org:7'] }),
      entry('other', { text: 'word', boundaryId: 'b', directPrincipals: ['user:12'] }),
    );
    expect(await ids('word', { filter: admitting({ principals: ['user:1'] }) })).toEqual(['mine']);
    expect(await ids('word', { filter: admitting({ principals: ['org:7', 'user:5'] }) })).toEqual(['mine']);
    expect(await ids('word', { filter: admitting({ principals: ['user:', 'user:1\nuser:12', '%'] }) })).toEqual([]);
  });

  test('admit what lies below a granted item within its boundary', async () => {
    const { hold, ids } = use();
    await hold(
      entry('folder', { text: 'word', directPrincipals: ['user:1'] }),
      entry('child', { text: 'word', ancestorIds: ['folder'] }),
      entry('grandchild', { text: 'word', ancestorIds: ['folder', 'child'] }),
      entry('cut', { text: 'word', ancestorIds: ['folder', 'child'], boundaryId: 'cut' }),
      entry('beside', { text: 'word' }),
    );
    const granted = [{ resourceId: 'folder', boundaryId: WORKSPACE }];
    const filter = admitting({ principals: ['user:1'], granted });
    expect((await ids('word', { filter })).sort()).toEqual(['child', 'folder', 'grandchild']);
    const wrong = admitting({ granted: [{ resourceId: 'folder', boundaryId: 'other' }] });
    expect(await ids('word', { filter: wrong })).toEqual(['folder']);
  });

  test('admit a granted item even if its entry lacks the grant', async () => {
    const { hold, ids, ask } = use();
    await hold(
      entry('new', { text: 'word' }),
      entry('restricted', { text: 'word' }),
      entry('beside', { text: 'word' }),
    );
    const granted = [
      { resourceId: 'new', boundaryId: WORKSPACE },
      { resourceId: 'restricted', boundaryId: 'restricted' },
    ];
    const filter = admitting({ granted });
    expect((await ids('word', { filter })).sort()).toEqual(['new', 'restricted']);
    expect(await ask('word', { filter, limit: 1 })).toMatchObject({ total: 2 });
  });

  test('admit nothing of a lost subtree at its former place, except what is kept', async () => {
    const { hold, ask } = use();
    await hold(
      entry('top', { text: 'word', tags: ['t1'] }),
      entry('lost', { text: 'word', tags: ['t2'], ancestorIds: ['top'] }),
      entry('below', { text: 'word', tags: ['t2'], ancestorIds: ['top', 'lost'] }),
      entry('kept', { text: 'word', tags: ['t3'], ancestorIds: ['top', 'lost'] }),
      entry('with kept', { text: 'word', tags: ['t3'], ancestorIds: ['top', 'lost', 'kept'] }),
      entry('bounded', { text: 'word', tags: ['t4'], boundaryId: 'bounded', ancestorIds: ['top', 'lost'] }),
      entry('moved', { text: 'word', tags: ['t5'], boundaryId: 'bounded' }),
    );
    const found = async (filter: Partial<SearchFilter>): Promise<unknown> => {
      const { hits, total, facets } = await ask('word', { filter: admitting(filter), facets: ['tag'] });
      const tags = [...(facets.tag ?? [])].sort();
      return [hits.map(({ id }) => id).sort(), total, tags];
    };
    const lost = [{ resourceId: 'lost', boundaryId: WORKSPACE, keptIds: ['kept'] }];
    const all = ['bounded', 'kept', 'moved', 'top', 'with kept'];
    const tags = [
      ['t1', 1],
      ['t3', 2],
      ['t4', 1],
      ['t5', 1],
    ];
    // However they are admitted: by an open workspace, by boundaries, or by a granted folder above.
    expect(await found({ openWorkspaceIds: [WORKSPACE], lost })).toEqual([all, 5, tags]);
    expect(await found({ boundaryIds: [WORKSPACE, 'bounded'], lost })).toEqual([all, 5, tags]);
    const granted = [{ resourceId: 'top', boundaryId: WORKSPACE }];
    expect(await found({ granted, lost })).toEqual([['kept', 'top', 'with kept'], 3, tags.slice(0, 2)]);
    const filter = admitting({ openWorkspaceIds: [WORKSPACE], lost });
    const listed = await Promise.all([0, 2, 4].map((offset) => ask('type:document', { filter, offset, limit: 2 })));
    expect(listed.map(({ total }) => total)).toEqual([5, 5, 5]);
    expect(listed.flatMap(({ hits }) => hits.map(({ id }) => id)).sort()).toEqual(all);
    const both = [
      { resourceId: 'lost', boundaryId: WORKSPACE, keptIds: [] },
      { resourceId: 'moved', boundaryId: 'elsewhere', keptIds: [] },
    ];
    expect(await found({ openWorkspaceIds: [WORKSPACE], lost: both })).toEqual([
      ['bounded', 'top'],
      2,
      [
        ['t1', 1],
        ['t4', 1],
      ],
    ]);
  });

  test('limit totals and facets to admitted entries', async () => {
    const { hold, ask } = use();
    await hold(
      entry('a', { text: 'word', tags: ['t1', 't2'], createdBy: person('u1') }),
      entry('b', { text: 'word', tags: ['t1'], type: ResourceType.TABLE, createdBy: person('u1') }),
      entry('c', { text: 'word', boundaryId: 'hidden', tags: ['t3'], createdBy: person('u2') }),
    );
    const filter = admitting({ boundaryIds: [WORKSPACE] });
    const { total, facets } = await ask('word', {
      filter,
      facets: ['type', 'tag', 'workspace', 'created_by'],
      limit: 1,
    });
    expect(total).toBe(2);
    expect(facets).toEqual({
      type: [
        [ResourceType.DOCUMENT, 1],
        [ResourceType.TABLE, 1],
      ],
      tag: [
        ['t1', 2],
        ['t2', 1],
      ],
      workspace: [[WORKSPACE, 2]],
      created_by: [['u1', 2]],
    });
  });

  test('narrow by types, subtree, author, time, metadata and tags', async () => {
    const { hold, ids } = use();
    await hold(
      entry('a', {
        text: 'word',
        type: ResourceType.TABLE,
        ancestorIds: ['top', 'mid'],
        createdBy: person('u1'),
        updatedAt: '2026-03-01T00:00:00.000Z',
        metadataJson: '{"status":"open","n":3,"flag":true,"odd\\"name":"line\\nfeed"}',
        tags: ['t1', 't2'],
      }),
      entry('b', { text: 'word', metadataJson: '{"status":"opened","n":"3","flag":false}', createdBy: person('u2') }),
    );
    const narrow = (narrowing: object): Promise<string[]> => ids('word', { narrowing });
    expect(await narrow({ types: [ResourceType.TABLE, ResourceType.FILE] })).toEqual(['a']);
    expect(await narrow({ excludedTypes: [ResourceType.TABLE] })).toEqual(['b']);
    expect(await narrow({ parentId: 'top' })).toEqual(['a']);
    expect(await narrow({ parentId: 'to' })).toEqual([]);
    expect(await narrow({ createdBy: ['u2', 'u3'] })).toEqual(['b']);
    expect(await narrow({ updatedAfter: '2026-02-01T00:00:00.000Z' })).toEqual(['a']);
    expect(await narrow({ updatedBefore: '2026-02-01T00:00:00.000Z' })).toEqual(['b']);
    expect(await narrow({ metadata: { status: 'open' } })).toEqual(['a']);
    expect(await narrow({ metadata: { n: 3, flag: true } })).toEqual(['a']);
    expect(await narrow({ metadata: { n: '3' } })).toEqual(['b']);
    expect(await narrow({ metadata: { 'odd"name': 'line\nfeed' } })).toEqual(['a']);
    expect(await narrow({ metadata: { n: 3, flag: false } })).toEqual([]);
    expect(await narrow({ tags: [['t1'], ['t2', 't9']] })).toEqual(['a']);
    expect(await narrow({ tags: [['t1'], ['t9']] })).toEqual([]);
    expect(await narrow({ excludedTags: ['t1'] })).toEqual(['b']);
    expect(await narrow({ types: [] })).toEqual([]);
  });

  test('return all admitted entries for a query without words, last updated first', async () => {
    const { hold, ids, ask } = use();
    await hold(
      entry('old', { text: 'word', updatedAt: '2026-01-01T00:00:00.000Z' }),
      entry('new', { text: 'word', updatedAt: '2026-02-01T00:00:00.000Z' }),
      entry('not', { text: 'word never', updatedAt: '2026-03-01T00:00:00.000Z' }),
      entry('hidden', { text: 'word', boundaryId: 'hidden' }),
    );
    const filter = admitting({ boundaryIds: [WORKSPACE] });
    expect(await ids('-never', { filter })).toEqual(['new', 'old']);
    expect(await ids('type:document', { filter })).toEqual(['not', 'new', 'old']);
    const answer = await ask('-never', { filter, offset: 1, limit: 1, facets: ['type'] });
    expect(answer).toMatchObject({
      total: 2,
      more: false,
      hits: [{ id: 'old' }],
      facets: { type: [[ResourceType.DOCUMENT, 2]] },
    });
  });

  test('applies changes of entries to the filter at once', async () => {
    const { hold, ids, index } = use();
    const shared = entry('shared', { text: 'word', boundaryId: 'b' });
    await hold(shared, entry('stays', { text: 'word', boundaryId: 'b', directPrincipals: ['user:1'] }));
    const filter = admitting({ principals: ['user:1'] });
    expect(await ids('word', { filter })).toEqual(['stays']);
    await index.upsert([{ ...shared, directPrincipals: ['user:1'] }]);
    expect((await ids('word', { filter })).sort()).toEqual(['shared', 'stays']);
    await index.upsert([{ ...shared, directPrincipals: [] }]);
    expect(await ids('word', { filter })).toEqual(['stays']);
  });

  test('neither complete nor correct by words of another tenant', async () => {
    const { hold, ids } = use();
    await hold(
      entry('mine', { text: 'vacation', tenant: ORG }),
      entry('theirs', { text: 'vacatoin', tenant: 'org-2', workspaceId: 'ws-9' }),
    );
    expect(await ids('vacatoin ')).toEqual(['mine']);
  });

  test('neither complete, correct nor hide typos by words of another Personal workspace', async () => {
    const { hold, ids } = use();
    const personal = (id: string, workspaceId: string, text: string) =>
      entry(id, { workspaceId, tenant: workspaceId, boundaryId: workspaceId, text });
    await hold(
      personal('mine', 'mine', 'a kangaroo'),
      personal('hers', 'hers', 'a wallabies herd and a kangaros'),
      personal('also mine', 'also-mine', 'a wombat burrow'),
    );
    const mine = { filter: everythingIn('mine', 'also-mine') };
    // Words in workspaces of other people neither complete nor correct words in a caller's workspace.
    expect(await ids('wallabbies ', mine)).toEqual([]);
    expect(await ids('wallabie', mine)).toEqual([]);
    // A word that occurs only in another person's workspace is still treated as a typo.
    expect(await ids('kangaros ', mine)).toEqual(['mine']);
    expect(await ids('kangaros ', { filter: everythingIn('hers') })).toEqual(['hers']);
    // One search covers several of a person's workspaces with their words.
    expect(await ids('wombats burow ', mine)).toEqual(['also mine']);
    expect(await ids('kangaro', mine)).toEqual(['mine']);
  });
}
