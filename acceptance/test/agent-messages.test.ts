import { beforeAll, describe, expect, test } from '@jest/globals';
import { newAgent } from '../src/agents.js';
import type { Api } from '../src/client.js';
import { type Person, signUp } from '../src/people.js';
import type { Org, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';

interface Conversation {
  readonly id: string;
  readonly member_count: number;
  readonly members: readonly {
    readonly principal: { readonly type: string; readonly id: string; readonly name: string };
  }[];
}

let ann: Person;
let ben: Person;
let org: Org;
let workspace: Workspace;

beforeAll(async () => {
  const system = await standingSystem();
  [ann, ben] = await Promise.all([signUp(system, 'Ann Author'), signUp(system, 'Ben Reader')]);
  org = (await ann.post<Org>('/orgs', { name: 'Talkers' })).data;
  workspace = (await ann.post<Workspace>('/workspaces', { name: 'Talks', org_id: org.id })).data;
  await ann.post(`/orgs/${org.id}/members`, { user_id: ben.user.id, role: 'member' });
  await ann.post(`/workspaces/${workspace.id}/members`, { user_id: ben.user.id, role: 'viewer' });
}, 90_000);

const withAgent = (by: Api, id: string) =>
  by.post<Conversation>('/im/conversations', {
    ...{ workspace_id: workspace.id, type: 'group', name: 'With an agent' },
    members: [{ agent_id: id }],
  });

describe('an agent', () => {
  test('joins a conversation under its name, and is mentioned like a person', async () => {
    const agent = await newAgent(ann, { name: 'Scout', org_id: org.id });
    const { status, data } = await withAgent(ann, agent.id);
    expect([status, data.member_count]).toEqual([201, 2]);
    const { members } = (await ann.get<Conversation>(`/im/conversations/${data.id}?include=members`)).data;
    expect(members.map(({ principal }) => principal)).toContainEqual({ type: 'agent', id: agent.id, name: 'Scout' });
    const sent = await ann.post(`/im/conversations/${data.id}/messages`, {
      ...{ text: 'Hello', mentions: [{ type: 'agent', id: agent.id }] },
    });
    expect(sent.status).toBe(201);
    expect(sent.data.mentions).toEqual([{ type: 'agent', id: agent.id, name: 'Scout' }]);
  });

  test('of another tenant, paused, or not usable by the person cannot be added', async () => {
    const [own, personal, paused] = await Promise.all([
      newAgent(ann, { org_id: org.id }),
      newAgent(ann),
      newAgent(ann, { org_id: org.id }),
    ]);
    await ann.patch(`/agents/${paused.id}`, { status: 'paused' });
    const refused = await Promise.all([withAgent(ann, personal.id), withAgent(ann, paused.id)]);
    expect(refused.map(({ status }) => status)).toEqual([404, 404]);
    expect((await withAgent(ben, own.id)).status).toBe(404);
  });
});
