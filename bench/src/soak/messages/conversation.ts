import { api } from '@commonplace/acceptance/dist/src/client.js';
import { type Person, signUp } from '@commonplace/acceptance/dist/src/people.js';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Made } from '../../fill.js';
import type { Killable } from './killable.js';

/** A group conversation in which all members write. */
export interface Conversation {
  readonly system: Killable;
  readonly id: string;
  readonly workspaceId: string;
  readonly people: readonly Person[];
}

export interface StoredMessage {
  readonly seq: number;
  readonly text: string;
  readonly author: { readonly id: string };
}

/** Number of people who sign up concurrently. It is small, because hashing their passwords uses all processors. */
const SIGN_UPS = 4;
const PAGE = 100;

/** Signs up people and adds them to a group conversation. */
export async function openConversation(system: Killable, count: number): Promise<Conversation> {
  const owner = api({ baseUrl: system.baseUrl() }, system.apiKey);
  const workspace = (await owner.post<Made>('/workspaces', { name: 'Messages' })).data;
  const numbers = Array.from({ length: count }, (_, i) => i);
  const people = await forEach(numbers, SIGN_UPS, async (i) => {
    const person = await signUp({ baseUrl: system.baseUrl() }, `Writer ${i}`);
    const joined = await owner.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role: 'viewer' });
    if (joined.status >= 300) throw new Error(joined.text);
    return person;
  });
  const members = people.map(({ user }) => user.id);
  const body = { type: 'group', name: 'All of them', workspace_id: workspace.id, member_ids: members };
  const { id } = (await owner.post<Made>('/im/conversations', body)).data;
  return { system, id, workspaceId: workspace.id, people };
}

/** Returns all messages of a conversation in order. */
export async function readMessages({ system, id }: Conversation): Promise<StoredMessage[]> {
  const owner = api({ baseUrl: system.baseUrl() }, system.apiKey);
  const all: StoredMessage[] = [];
  for (;;) {
    const path = `/im/conversations/${id}/messages?limit=${PAGE}&after_seq=${all.at(-1)?.seq ?? 0}`;
    const { data } = await owner.get<{ items: readonly StoredMessage[] }>(path);
    all.push(...data.items);
    if (data.items.length < PAGE) return all;
  }
}

/** Returns the number of unread messages of each person, as the API counts it for them. */
export function readUnread({ system, id, people }: Conversation): Promise<number[]> {
  return forEach(people, SIGN_UPS, async ({ session }) => {
    const by = api({ baseUrl: system.baseUrl() }, session);
    return (await by.get<{ unread_count: number }>(`/im/conversations/${id}`)).data.unread_count;
  });
}
