import { Agent } from '@commonplace/proto/agents/v1/agent.js';
import { AgentInclude, GetAgentRequest } from '@commonplace/proto/agents/v1/agent_service.js';
import { ChatSession } from '@commonplace/proto/agents/v1/chat_session.js';
import { Content } from '@commonplace/proto/resources/v1/content_service.js';
import { Resource, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { SearchResponse } from '@commonplace/proto/search/v1/search_service.js';
import { describe, expect, test } from '@jest/globals';
import { createRoutes, type Route } from '../src/routes.js';
import { fixtureContract } from './fixture.js';
import { ID } from './request-helpers.js';

const routes = createRoutes(fixtureContract());
const routeOf = (rpc: string): Route => {
  const route = routes.find((each) => each.rpc === rpc);
  if (route === undefined) throw new Error(`no route of ${rpc}`);
  return route;
};
const thing = {
  id: ID,
  version: 4,
  name: 'He said "hi"\n\u2028\\',
  isActive: true,
  small: undefined,
  big: 2 ** 53 - 1,
  ratio: 0.1,
  colour: 'COLOUR_DARK_BLUE',
  colours: ['COLOUR_RED', 'COLOUR_DARK_BLUE'],
  at: '2024-01-31T10:00:00.000Z',
  any: Buffer.from('[1,{"a":"é"}]'),
  object: Buffer.alloc(0),
  array: Buffer.from('[]'),
  text: Buffer.from('"words"'),
  part: { title: 'a', note: undefined, part: undefined },
  parts: [{ title: 'b', note: 'c', part: { title: 'd', note: undefined, part: undefined } }],
  ids: { values: [ID] },
  labels: { a: 1, 'b"': 2 },
  email: 'a@b',
  sort: '',
  secret: undefined as string | undefined,
};
const written = {
  id: ID,
  version: 4,
  name: 'He said "hi"\n\u2028\\',
  is_active: true,
  small: null,
  big: 2 ** 53 - 1,
  ratio: 0.1,
  colour: 'dark_blue',
  colours: ['red', 'dark_blue'],
  at: '2024-01-31T10:00:00.000Z',
  any: [1, { a: 'é' }],
  object: null,
  array: [],
  text: 'words',
  part: { title: 'a', note: null, part: null },
  parts: [{ title: 'b', note: 'c', part: { title: 'd', note: null, part: null } }],
  ids: [ID],
  labels: { a: 1, 'b"': 2 },
  email: 'a@b',
  sort: '',
};
const write = (message: object, fields?: Set<string>) =>
  JSON.parse(routeOf('UpdateThing').writeResponse(message, { fields }).data.join(''));

describe('writeResponse', () => {
  test('writes every kind of field, in the order of the contract', () => {
    const { data, page } = routeOf('UpdateThing').writeResponse(thing);
    expect(data).toEqual([JSON.stringify(written)]);
    expect(page).toBeUndefined();
  });

  test('writes empty values', () => {
    const empty = { ...thing, at: undefined, part: undefined, ids: undefined, colours: [], labels: {}, parts: [] };
    expect(write({ ...empty, colour: 'COLOUR_UNSPECIFIED', isActive: undefined, big: 0, id: '' })).toMatchObject({
      id: '',
      is_active: null,
      big: 0,
      colour: null,
      colours: [],
      at: null,
      part: null,
      ids: null,
      labels: {},
      parts: [],
    });
    expect(write({ ...thing, ids: { values: [] } }).ids).toEqual([]);
  });

  test('writes secrets that are shown once only if they are present', () => {
    expect(write({ ...thing, secret: 'wsk' }).secret).toBe('wsk');
    expect(write({ ...thing, secret: '' })).not.toHaveProperty('secret');
    expect(write(thing)).not.toHaveProperty('secret');
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, undefined])('writes %p for a number as null', (ratio) => {
    expect(write({ ...thing, ratio }).ratio).toBeNull();
  });

  test.each([
    ['2024-01-31T10:00:00Z', '2024-01-31T10:00:00.000Z'],
    ['2024-01-31T10:00:00+01:00', '2024-01-31T09:00:00.000Z'],
    ['","x":"', null],
  ])('writes the time %p as %p', (at, expected) => {
    expect(write({ ...thing, at }).at).toBe(expected);
  });

  test.each([
    'a"b',
    'a\\b',
    '\u0000',
    '\u001f',
    '\u007f',
    '\u2028',
    '\ud800',
    '\udfff x',
    '😀',
    'é'.repeat(3000),
    '"'.repeat(99),
  ])('writes the text %p as JSON.stringify does', (name) => {
    expect(
      routeOf('UpdateThing')
        .writeResponse({ ...thing, name })
        .data.join(''),
    ).toContain(`"name":${JSON.stringify(name)},`);
  });

  test('moves the page out of a list', () => {
    const page = { limit: 50, offset: 0, total: 1, totalIsEstimate: false, hasMore: false };
    const response = routeOf('ListThings').writeResponse({ items: [thing], note: 'n', page });
    expect(JSON.parse(response.data.join(''))).toEqual({ items: [written], note: 'n' });
    expect(JSON.parse(response.page ?? '')).toEqual({
      limit: 50,
      offset: 0,
      total: 1,
      total_is_estimate: false,
      has_more: false,
      next_offset: null,
      next_cursor: null,
    });
  });

  test('reduces records to the requested fields', () => {
    expect(write(thing, new Set(['colour', 'id']))).toEqual({ id: ID, colour: 'dark_blue' });
    const list = routeOf('ListThings').writeResponse(
      { items: [thing, thing], note: 'n' },
      { fields: new Set(['version']) },
    );
    expect(JSON.parse(list.data.join(''))).toEqual({ items: [{ version: 4 }, { version: 4 }], note: 'n' });
    expect(routeOf('ListThings').recordFields).toEqual(new Set([...Object.keys(written), 'secret']));
  });

  test('writes lists of wrapped lists', () => {
    const highlight = { field: 'SEARCH_FIELD_NAME', snippet: 'x', ranges: [{ bounds: [5, 7] }, { bounds: [9, 9] }] };
    const message = SearchResponse.create({ items: [{ highlights: [highlight] }] } as never);
    const { items } = JSON.parse(routeOf('Search').writeResponse(message).data.join(''));
    expect(items[0].highlights[0].ranges).toEqual([
      [5, 7],
      [9, 9],
    ]);
  });

  test('writes a whole record of the product', () => {
    const data = JSON.parse(
      routeOf('GetResource')
        .writeResponse(Resource.create({ id: ID, version: 2 }))
        .data.join(''),
    );
    expect(data).toMatchObject({
      id: ID,
      org_id: null,
      path: null,
      tags: [],
      metadata: null,
      version: 2,
      size_bytes: 0,
    });
    expect(Object.keys(data)).toHaveLength(Object.keys(Resource.create()).length);
  });
});

describe('fields of some kinds only', () => {
  const common = ['resource_id', 'type', 'version', 'etag', 'updated_at', 'updated_by', 'truncated'];
  const ofWrites = ['replaced_version', 'snapshot_id', 'changed'];
  const content = (fields: Partial<Content>) => {
    const message = Content.fromPartial({ resourceId: ID, version: 1, ...fields } as never);
    const { data, page } = routeOf('GetContent').writeResponse(message);
    return { fields: JSON.parse(data.join('')), page };
  };

  test('are omitted if they are empty', () => {
    const { fields, page } = content({ type: ResourceType.DOCUMENT, content: Buffer.from('""'), wordCount: 0 });
    expect(Object.keys(fields).sort()).toEqual([...common, ...ofWrites, 'content', 'word_count'].sort());
    expect(fields).toMatchObject({ content: '', word_count: 0, snapshot_id: null });
    expect(page).toBeUndefined();
  });

  test('are written if they are present, empty or not', () => {
    const rows = { columns: Buffer.from('[{"id":"a"}]'), rows: Buffer.from('[]'), rowCount: 0 };
    const page = { limit: 100, offset: 0, total: 0, totalIsEstimate: false, hasMore: false };
    const table = content({ ...rows, page: { ...page, nextOffset: undefined, nextCursor: undefined } });
    expect(table.fields).toMatchObject({ columns: [{ id: 'a' }], rows: [], row_count: 0 });
    expect(JSON.parse(table.page ?? '')).toMatchObject({ limit: 100, total: 0 });
    expect(content({ source: '' }).fields).toMatchObject({ source: '' });
    expect(content({}).fields).not.toHaveProperty('source');
    expect(content({}).fields).not.toHaveProperty('artifact_type');
  });
});

describe('versionOf', () => {
  test('returns that of the record', () => {
    expect(routeOf('UpdateThing').versionOf(thing)).toBe(4);
    expect(routeOf('ListThings').versionOf({ items: [thing], note: '' })).toBeUndefined();
  });
});

describe('lists that a request includes', () => {
  const agent = (request: object, fields?: Set<string>) => {
    const route = routeOf('GetAgent');
    const included = route.includedIn(GetAgentRequest.fromPartial({ agentId: ID, ...request }));
    const message = Agent.fromPartial({ id: ID, mcp: [{ name: 'tickets' }] });
    return JSON.parse(route.writeResponse(message, { fields, included }).data.join(''));
  };

  test('are written if they are empty', () => {
    const answer = agent({ include: [AgentInclude.SKILLS, AgentInclude.WORKSPACES, AgentInclude.MCP] });
    expect(answer).toMatchObject({ id: ID, skills: [], workspaces: [], mcp: [{ name: 'tickets' }] });
    expect(answer).not.toHaveProperty('versions');
  });

  test('are written only then', () => {
    expect(agent({})).not.toHaveProperty('skills');
    expect(agent({ include: [AgentInclude.SKILLS] }, new Set(['id', 'skills', 'workspaces']))).toEqual({
      id: ID,
      skills: [],
    });
  });
});

test('the messages of a chat session are written next to their page, empty or not, and where there are any', () => {
  const session = (more: object) => {
    const message = ChatSession.fromPartial({ id: ID, ...more });
    return JSON.parse(routeOf('GetChatSession').writeResponse(message).data.join(''));
  };
  expect(session({ page: { limit: 50 } }).messages).toEqual([]);
  expect(session({ messages: [{ id: ID }] }).messages).toHaveLength(1);
  expect(session({})).not.toHaveProperty('messages');
});
