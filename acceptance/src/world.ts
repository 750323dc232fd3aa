import { randomUUID } from 'node:crypto';
import { once } from '@commonplace/kit/cache';
import { type Api, api } from './client.js';
import { eventually } from './eventually.js';
import { newAddress, newKey, type Person, signUp, tokenOf } from './people.js';
import type {
  ApiKey,
  Comment,
  Connector,
  Import,
  List,
  Member,
  Org,
  Pin,
  Resource,
  Snapshot,
  Tag,
  Workspace,
  WorkspaceMember,
} from './records.js';
import type { System } from './system.js';

/** A workspace with content, and a person who has full access to it. */
export interface Place {
  readonly org: Org;
  readonly workspace: Workspace;
  readonly folder: Resource;
  readonly document: Resource;
  /** A tag of the workspace. */
  readonly tag: Tag;
  /** A comment of the boss on the document. */
  readonly comment: Comment;
  readonly file: Resource;
  readonly boss: Person;
  /** An active member of the Org whose memberships are added and removed. */
  readonly extra: Person;
  readonly extraOrgMember: Member;
  /** A key of the Org that no test uses for calls. */
  readonly orgKey: ApiKey;
  newDocument(): Promise<Resource>;
  newArtifact(): Promise<Resource>;
  newTable(): Promise<Resource>;
  /** Creates a table with a form that asks for a name. */
  newForm(): Promise<{ readonly resourceId: string; readonly token: string; readonly webhookToken: string }>;
  /** Creates a snapshot of a resource's current content. */
  newSnapshot(of: Resource): Promise<Snapshot>;
  newTag(): Promise<Tag>;
  /** Creates another comment of the boss on the document. */
  newComment(): Promise<Comment>;
  /** Creates a document and moves it to the trash. */
  newTrash(): Promise<Resource>;
  /** Creates a document with a share link. */
  newShared(): Promise<Resource>;
  newPublished(): Promise<Resource>;
  /** Publishes the workspace unless it is already published. */
  publication(): Promise<void>;
  /** Requests access to a new document for `extra`. Returns the id of the request. */
  newAccessRequest(): Promise<string>;
  /** Returns the id of the workspace membership of `extra`. Creates the membership if it is missing. */
  extraMember(): Promise<string>;
  /** Invites a new person to the Org. */
  newInvited(): Promise<Member>;
  newOrgKey(): Promise<ApiKey>;
  /** Creates a group of the Org with its guests and `extra`, so that all members of the Org see it. */
  newGroup(): Promise<{ readonly id: string }>;
  /** Returns the pin of `document`. Creates the pin if it is missing. */
  pin(): Promise<Pin>;
  newConnector(): Promise<Connector>;
  /** Returns an import that waits for its bytes. It is the same for all calls. */
  import(): Promise<Import>;
  /** Returns a chat session that everybody in the workspace may read. */
  chat(): Promise<{ readonly id: string }>;
  /** Returns a channel of the boss with a message. */
  channel(): Promise<{ readonly id: string; readonly messageId: string }>;
  /** Returns a memory of the workspace. */
  memory(): Promise<{ readonly id: string }>;
  /** Returns a work item of the boss. It is the same for all calls. */
  workItem(): Promise<{ readonly id: string }>;
  newWorkItem(): Promise<{ readonly id: string }>;
  /** Returns a run that has ended. */
  run(): Promise<{ readonly id: string }>;
  /** Returns an automation of the boss that does nothing. It is the same for all calls. */
  automation(): Promise<{ readonly id: string }>;
  newAutomation(trigger?: object): Promise<{ readonly id: string; readonly webhook_url?: string }>;
  /** Returns the path of a completed run of that automation. */
  automationRun(): Promise<string>;
  newImport(): Promise<Import>;
  /** Returns an agent of the boss that acts in the workspace and that everybody there may use. */
  agent(): Promise<{ readonly id: string }>;
  /** Returns a schedule of that agent, which the boss has created. It fires once a year. */
  schedule(): Promise<{ readonly id: string }>;
  newSchedule(): Promise<{ readonly id: string }>;
}

interface MadeForm {
  readonly form: { readonly token: string; readonly webhook_token: string };
}

export const ORG_ROLES = ['owner', 'admin', 'member', 'guest'] as const;
export const WORKSPACE_ROLES = ['owner', 'admin', 'editor', 'commenter', 'viewer', 'guest'] as const;

export type OrgRole = (typeof ORG_ROLES)[number];
export type WorkspaceRole = (typeof WORKSPACE_ROLES)[number];

/** A request that creates a connector without credentials. */
export const HTTP_CONNECTOR = { type: 'http', config: { url: 'https://api.example.com/v1' } };

/** A caller with their role in the Org and in the workspace that requests address. */
export interface Caller {
  readonly name: string;
  readonly api: Api;
  readonly org?: OrgRole;
  readonly workspace?: WorkspaceRole;
  readonly place: Place;
}

export interface World {
  readonly system: System;
  readonly everyScope: readonly string[];
  /** Owner of the Org and of the workspaces. */
  readonly boss: Person;
  /** A workspace without a default role: only people who were added have access. */
  readonly closed: Place;
  /** A workspace in which every member of the Org is a commenter. */
  readonly open: Place;
  /** A Personal workspace with the same members as the closed one. */
  readonly personal: Place;
  /** A person who is in no Org of other people. */
  readonly stranger: Person;
  /** A signed-in person for every role. */
  readonly callers: readonly Caller[];
}

/** Creates an Org with a person for each role, and its workspaces. Requires a system with open sign-up. */
export async function createWorld(system: System): Promise<World> {
  const everyScope = (await api(system, system.owner.apiKey).get<{ scopes: string[] }>('/capabilities')).data.scopes;
  const [boss, stranger] = await Promise.all([signUp(system, 'Boss'), signUp(system, 'Stranger')]);
  const { data: org } = await boss.post<Org>('/orgs', { name: 'Acme' });
  const inOrg = await joinOrg(system, boss, org);
  const extra = await inOrg('Extra', 'member');
  const parts = { boss, org, extra: extra.person, extraOrgMember: extra.member, everyScope };
  const closed = await createPlace(parts, { org_id: org.id, default_role: null });
  const open = await createPlace(parts, { org_id: org.id, default_role: 'commenter' });
  const personal = await createPlace(parts, {});

  const callers: Caller[] = [{ name: 'boss', api: boss, org: 'owner', workspace: 'owner', place: closed }];
  const orgPeople = await Promise.all(ORG_ROLES.map((role) => inOrg(`Org ${role}`, role)));
  for (const [i, role] of ORG_ROLES.entries()) {
    callers.push({ name: `org ${role}`, api: personAt(orgPeople, i), org: role, place: closed });
  }
  const workspacePeople = await Promise.all(WORKSPACE_ROLES.map((role) => inOrg(`Workspace ${role}`, 'member')));
  for (const [i, role] of WORKSPACE_ROLES.entries()) {
    const person = personAt(workspacePeople, i);
    for (const { workspace } of [closed, personal]) {
      await boss.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role });
    }
    callers.push({ name: `workspace ${role}`, api: person, org: 'member', workspace: role, place: closed });
  }
  const byDefault = personAt(orgPeople, ORG_ROLES.indexOf('member'));
  callers.push({ name: 'Org default', api: byDefault, org: 'member', workspace: 'commenter', place: open });
  return { system, everyScope, boss, closed, open, personal, stranger, callers };
}

interface Joined {
  readonly person: Person;
  readonly member: Member;
}

function personAt(joined: readonly Joined[], index: number): Person {
  return (joined[index] as Joined).person;
}

/** Returns a function that adds new people to an Org, by an invitation and a sign-up with its token. */
async function joinOrg(system: System, boss: Api, org: Org) {
  return async (name: string, role: OrgRole): Promise<Joined> => {
    const email = newAddress(name);
    const { data: member } = await boss.post<Member>(`/orgs/${org.id}/members`, { email, role });
    const person = await signUp(system, name, { email, invitation: tokenOf(member.invite_url) });
    return { person, member };
  };
}

interface PlaceParts {
  readonly boss: Person;
  readonly org: Org;
  readonly extra: Person;
  readonly extraOrgMember: Member;
  readonly everyScope: readonly string[];
}

async function createPlace({ everyScope, ...parts }: PlaceParts, kind: object): Promise<Place> {
  const { boss, org, extra } = parts;
  const { data: workspace } = await boss.post<Workspace>('/workspaces', { name: 'Place', ...kind });
  const create = async (body: object) =>
    (await boss.post<Resource>('/resources', { workspace_id: workspace.id, ...body })).data;
  const folder = await create({ type: 'folder', name: 'Folder' });
  const document = await create({ type: 'document', name: 'Document', parent_id: folder.id, content: 'Some words.' });
  const file = { name: 'File.txt', parent_id: folder.id, content_base64: 'U29tZSB3b3Jkcw==' };
  const members = `/workspaces/${workspace.id}/members`;
  const newTag = async () =>
    (await boss.post<Tag>(`/workspaces/${workspace.id}/tags`, { name: `Tag ${randomUUID()}` })).data;
  const newComment = async () =>
    (await boss.post<Comment>(`/resources/${document.id}/comments`, { body: 'A remark.' })).data;
  const newOrgKey = () => newKey(boss, everyScope, { org_id: org.id });
  const newImport = async () => {
    const body = { source_type: 'markdown', upload: true };
    return (await boss.post<Import>(`/workspaces/${workspace.id}/imports`, body)).data;
  };
  let extraMemberId = '';
  const newHelper = async () => {
    const body = { name: 'Helper', visibility: 'workspace', org_id: workspace.org_id };
    const { data } = await boss.post<{ id: string }>('/agents', body);
    await boss.send('PUT', `/agents/${data.id}/workspaces`, { workspace_ids: [workspace.id] });
    return data;
  };
  const agent = once(newHelper);
  const newSchedule = async () => {
    const { id: agent_id } = await agent();
    const body = { name: 'Yearly', agent_id, workspace_id: workspace.id, cron: '@yearly', input: 'Sum up.' };
    return (await boss.post<{ id: string }>('/agent-schedules', body)).data;
  };
  const newChat = async () => {
    const body = { workspace_id: workspace.id, visibility: 'workspace' };
    return (await boss.post<{ id: string }>('/chat-sessions', body)).data;
  };
  const newChannel = async () => {
    const body = { type: 'channel', workspace_id: workspace.id, name: 'General' };
    const { id } = (await boss.post<{ id: string }>('/im/conversations', body)).data;
    const sent = await boss.post<{ id: string }>(`/im/conversations/${id}/messages`, { text: 'Hello' });
    return { id, messageId: sent.data.id };
  };
  const newAutomation = async (trigger: object = { type: 'manual' }) => {
    const body = { name: 'Automation', workspace_id: workspace.id, trigger, actions: [{ type: 'stop' }] };
    return (await boss.post<{ id: string; webhook_url?: string }>('/automations', body)).data;
  };
  const automation = once(() => newAutomation());
  const newAutomationRun = async () => {
    const runs = `/automations/${(await automation()).id}`;
    const path = `${runs}/runs/${(await boss.post<{ id: string }>(`${runs}/run`, {})).data.id}`;
    await eventually(async () => {
      const { status } = (await boss.get<{ status: string }>(path)).data;
      if (status !== 'completed') throw new Error(`the run is ${status}`);
    });
    return path;
  };
  const newWorkItem = async () => {
    const body = { workspace_id: workspace.id, title: 'A task' };
    return (await boss.post<{ id: string }>('/work-items', body)).data;
  };
  const newRun = async () => {
    const { data } = await boss.post<{ id: string }>('/agent-runs', {
      workspace_id: workspace.id,
      input: 'Some words?',
    });
    await eventually(async () => {
      const { status } = (await boss.get<{ status: string }>(`/agent-runs/${data.id}`)).data;
      if (status !== 'completed') throw new Error(`the run is ${status}`);
    });
    return data;
  };
  return {
    newImport,
    import: once(newImport),
    chat: once(newChat),
    channel: once(newChannel),
    memory: once(() => {
      const body = { scope: 'workspace', workspace_id: workspace.id, content: 'The team meets on Mondays.' };
      return boss.post<{ id: string }>('/memories', body).then(({ data }) => data);
    }),
    workItem: once(newWorkItem),
    newWorkItem,
    agent,
    newAutomation,
    automation,
    automationRun: once(newAutomationRun),
    newSchedule,
    schedule: once(newSchedule),
    run: once(newRun),
    ...parts,
    workspace,
    folder,
    document,
    tag: await newTag(),
    comment: await newComment(),
    newTag,
    newComment,
    file: (await boss.post<{ resource: Resource }>('/files', file)).data.resource,
    orgKey: await newOrgKey(),
    newOrgKey,
    newDocument: () => create({ type: 'document', name: 'Another', parent_id: folder.id }),
    newTable: () => create({ type: 'table', name: 'Leads', parent_id: folder.id }),
    async newForm() {
      const { id } = await create({ type: 'table', name: 'Answers', parent_id: folder.id });
      const config = { title: 'Contact us', fields: [{ id: 'name', type: 'short_text', label: 'Your name' }] };
      const { data } = await boss.post<MadeForm>(`/resources/${id}/form`, { config });
      return { resourceId: id, token: data.form.token, webhookToken: data.form.webhook_token };
    },
    newArtifact: () => create({ type: 'artifact', name: 'Sketch', parent_id: folder.id }),
    newSnapshot: async ({ id }) => (await boss.post<Snapshot>(`/resources/${id}/snapshots`, {})).data,
    async newShared() {
      const made = await create({ type: 'document', name: 'Shared', parent_id: folder.id });
      await boss.post(`/resources/${made.id}/permissions`, { principal_type: 'link', role: 'viewer' });
      return made;
    },
    async newPublished() {
      const made = await create({ type: 'document', name: 'Published' });
      await boss.post(`/resources/${made.id}/publish`);
      return made;
    },
    async publication() {
      await boss.post(`/workspaces/${workspace.id}/publish`);
    },
    async newAccessRequest() {
      const made = await create({ type: 'document', name: 'Wanted', parent_id: folder.id });
      if (workspace.org_id === null) await boss.post(members, { user_id: extra.user.id, role: 'viewer' });
      return (await extra.post<{ id: string }>(`/resources/${made.id}/access-requests`, { role: 'editor' })).data.id;
    },
    async newTrash() {
      const made = await create({ type: 'document', name: 'Thrown away' });
      await boss.del(`/resources/${made.id}`);
      return made;
    },
    async extraMember() {
      const added = await boss.post<WorkspaceMember>(members, { user_id: extra.user.id, role: 'viewer' });
      if (added.status !== 409) extraMemberId = added.data.id ?? '';
      return extraMemberId;
    },
    pin: async () => (await boss.post<Pin>(`/workspaces/${workspace.id}/pins`, { resource_id: document.id })).data,
    newConnector: async () =>
      (await boss.post<Connector>(`/workspaces/${workspace.id}/connectors`, HTTP_CONNECTOR)).data,
    async newGroup() {
      const { data } = await boss.post<{ id: string }>(`/orgs/${org.id}/groups`, { name: `Group ${randomUUID()}` });
      const { data: guests } = await boss.get<List<Member>>(`/orgs/${org.id}/members?role=guest&status=active`);
      const people = [extra.user.id, ...guests.items.flatMap(({ user }) => user?.id ?? [])];
      for (const id of people) await boss.send('PUT', `/orgs/${org.id}/groups/${data.id}/members/${id}`);
      return data;
    },
    newInvited: async () => (await boss.post<Member>(`/orgs/${org.id}/members`, { email: newAddress('invited') })).data,
  };
}
