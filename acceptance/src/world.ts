import { randomUUID } from 'node:crypto';
import { type Api, api } from './client.js';
import { newAddress, newKey, type Person, signUp, tokenOf } from './people.js';
import type {
  ApiKey,
  Comment,
  Connector,
  Import,
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

/** A workspace of the Org, with something in it and somebody who may do everything there. */
export interface Place {
  readonly org: Org;
  readonly workspace: Workspace;
  readonly folder: Resource;
  readonly document: Resource;
  /** A tag of the workspace. */
  readonly tag: Tag;
  /** The boss’s, on the document. */
  readonly comment: Comment;
  readonly file: Resource;
  readonly boss: Person;
  /** An active member of the Org, whose places come and go. */
  readonly extra: Person;
  readonly extraOrgMember: Member;
  /** Whose roles are changed and nobody calls as. */
  readonly orgKey: ApiKey;
  /** A new document. */
  newDocument(): Promise<Resource>;
  newArtifact(): Promise<Resource>;
  newTable(): Promise<Resource>;
  /** A new table with a form that asks for a name. */
  newForm(): Promise<{ readonly resourceId: string; readonly token: string; readonly webhookToken: string }>;
  /** A snapshot of a resource's present content. */
  newSnapshot(of: Resource): Promise<Snapshot>;
  newTag(): Promise<Tag>;
  /** Another comment of the boss on the document. */
  newComment(): Promise<Comment>;
  /** A document that lies in the trash. */
  newTrash(): Promise<Resource>;
  /** A document with a link. */
  newShared(): Promise<Resource>;
  newPublished(): Promise<Resource>;
  /** Publishes the workspace, where that is not done. */
  publication(): Promise<void>;
  /** What `extra` asks for on a new document. */
  newAccessRequest(): Promise<string>;
  /** `extra`’s place in the workspace, which is made where it is missing. */
  extraMember(): Promise<string>;
  /** Somebody who is invited into the Org. */
  newInvited(): Promise<Member>;
  newOrgKey(): Promise<ApiKey>;
  /** The pin of `document`, which is made where it is missing. */
  pin(): Promise<Pin>;
  newConnector(): Promise<Connector>;
  /** An import that waits for its bytes; always the same. */
  import(): Promise<Import>;
  newImport(): Promise<Import>;
}

interface MadeForm {
  readonly form: { readonly token: string; readonly webhook_token: string };
}

export const ORG_ROLES = ['owner', 'admin', 'member', 'guest'] as const;
export const WORKSPACE_ROLES = ['owner', 'admin', 'editor', 'commenter', 'viewer', 'guest'] as const;

export type OrgRole = (typeof ORG_ROLES)[number];
export type WorkspaceRole = (typeof WORKSPACE_ROLES)[number];

/** What makes a connector that needs nothing. */
export const HTTP_CONNECTOR = { type: 'http', config: { url: 'https://api.example.com/v1' } };

/** Somebody who calls, what they are in the Org, and in the workspace that they are asked about. */
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
  /** In the Org as its owner, and in the workspace as its owner. */
  readonly boss: Person;
  /** A workspace that is closed to who was not added. */
  readonly closed: Place;
  /** A workspace in which every member of the Org is a commenter. */
  readonly open: Place;
  /** A Personal workspace, with the same people in it as in the closed one. */
  readonly personal: Place;
  /** In no Org of anybody else. */
  readonly stranger: Person;
  /** Every role once, as signed-in people. */
  readonly callers: readonly Caller[];
}

/** An Org with a person for each role, and two workspaces. Needs a system with open sign-up. */
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

/** Gives what makes new people members of an Org: an invitation, and a sign-up with its token. */
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
  let waiting: Promise<Import> | undefined;
  let extraMemberId = '';
  return {
    newImport,
    import() {
      waiting ??= newImport();
      return waiting;
    },
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
    newInvited: async () => (await boss.post<Member>(`/orgs/${org.id}/members`, { email: newAddress('invited') })).data,
  };
}
