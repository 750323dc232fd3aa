import { randomUUID } from 'node:crypto';
import type { Api } from './client.js';
import { newKey } from './people.js';
import { HTTP_CONNECTOR, ORG_ROLES, type OrgRole, type Place, WORKSPACE_ROLES, type WorkspaceRole } from './world.js';

/** The callers who may use an endpoint with the request of a row (api: 3.2, 3.3, 6 to 10, 15). */
type Gate =
  /** Anybody, on their own records. */
  | { readonly kind: 'self'; readonly limited: Limited }
  /** Members of the Org with at least a role; `refusal` if the code is not `insufficient_role`. */
  | { readonly kind: 'org'; readonly least: OrgRole; readonly limited: Limited; readonly refusal?: string }
  /** Members of the Org with at least a role; to everybody else the record is not found. */
  | { readonly kind: 'hidden'; readonly least: OrgRole; readonly limited: Limited }
  /** Members of the workspace with at least a role. `metadata` is open to administrators of the Org as well. */
  | { readonly kind: 'workspace'; readonly least: WorkspaceRole; readonly metadata?: boolean }
  /** Members of the workspace, by their role at the tree's root; guests see nothing. */
  | { readonly kind: 'resource'; readonly least: WorkspaceRole }
  /** People of the same tenant except guests of the Org, whether they see the resource or not. */
  | { readonly kind: 'tenant' }
  /** Writers, for a resource in the trash; to everybody else it is not found. */
  | { readonly kind: 'trashed' }
  /** Everybody of the tenant, whatever their role in the workspace; keys of other tenants are refused. */
  | { readonly kind: 'tenant-open' }
  /** Administrators of the workspace, for another person's record; to other people it is not found. */
  | { readonly kind: 'theirs' }
  /** Readers of the workspace in which an agent acts, and administrators of its Org; to everybody else it is not found. */
  | { readonly kind: 'agent' };

export interface Call {
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/**
 * Outcome for a limited key. `refused`: 403 `tenant_boundary`. `answered`: as for other keys, but only with data of the
 * key's workspaces.
 */
type Limited = 'refused' | 'answered';

/** An endpoint with one valid request. */
export interface Row {
  /** Method and path, such as `GET /api/v1/me`. */
  readonly endpoint: string;
  /** Distinguishes the request if an endpoint has several rows. */
  readonly about?: string;
  readonly gate: Gate;
  /** Status for callers who are allowed. */
  readonly success: number;
  /** Whether 202 is answered if the work takes long. */
  readonly orLater?: true;
  /**
   * Error code for callers who are allowed. It is set if the request is made to fail behind the gates, because its
   * success could not be undone.
   */
  readonly code?: string;
  /** Whether keys of an Org are refused, regardless of their owner. */
  readonly personal?: boolean;
  /**
   * Outcome for a key limited to workspaces if the request addresses no workspace, which is so for the gates that name it.
   * The contract has to agree (`workspace_limit`).
   */
  readonly limited?: Limited;
  /** Returns the request. Creates new targets if the request uses them up. */
  readonly request: (place: Place, caller: Api) => Call | Promise<Call>;
}

const self = (limited: Limited): Gate => ({ kind: 'self', limited });
const org = (least: OrgRole, limited: Limited, refusal?: string): Gate => ({
  ...{ kind: 'org', least, limited },
  ...(refusal && { refusal }),
});
const workspace = (least: WorkspaceRole): Gate => ({ kind: 'workspace', least });
const resource = (least: WorkspaceRole): Gate => ({ kind: 'resource', least });

const ofAgent: Gate = { kind: 'agent' };

const ofOrg = ({ org: { id } }: Place, rest = '') => `/orgs/${id}${rest}`;
const ofWorkspace = ({ workspace: { id } }: Place, rest = '') => `/workspaces/${id}${rest}`;
const ofDocument = ({ document: { id } }: Place, rest = '') => `/resources/${id}${rest}`;

/** Rows of all endpoints, at least one for each. */
export const rows: readonly Row[] = [
  row('GET /capabilities', self('answered'), () => ({ path: '/capabilities' })),
  row('GET /me', self('answered'), () => ({ path: '/me' })),
  row('POST /batch', self('answered'), () => ({
    path: '/batch',
    body: { requests: [{ id: 'me', method: 'GET', path: '/api/v1/me' }] },
  })),

  row('GET /api-keys', self('answered'), () => ({ path: '/api-keys' })),
  row('GET /api-keys', org('guest', 'answered'), (place) => ({ path: `/api-keys?org_id=${place.org.id}` }), {
    about: 'of the Org',
  }),
  row('POST /api-keys', self('answered'), () => ({ path: '/api-keys', body: { name: 'Key', scopes: ['org:read'] } }), {
    success: 201,
  }),
  row(
    'POST /api-keys',
    org('admin', 'answered', 'org_admin_required'),
    (place) => ({ path: '/api-keys', body: { name: 'Key', scopes: ['org:read'], org_id: place.org.id } }),
    { about: 'of the Org', success: 201 },
  ),
  row('POST /api-keys/{key_id}/rotate', self('answered'), async (_, caller) => {
    const { id } = await newKey(caller, ['org:read']);
    return { path: `/api-keys/${id}/rotate`, body: {} };
  }),
  row('DELETE /api-keys/{key_id}', self('answered'), async (_, caller) => {
    const { id } = await newKey(caller, ['org:read']);
    return { path: `/api-keys/${id}` };
  }),
  row(
    'DELETE /api-keys/{key_id}',
    { kind: 'hidden', least: 'admin', limited: 'refused' },
    async (place) => ({ path: `/api-keys/${(await place.newOrgKey()).id}` }),
    { about: 'of the Org' },
  ),

  row('GET /orgs', self('refused'), () => ({ path: '/orgs' })),
  row('POST /orgs', self('refused'), () => ({ path: '/orgs', body: { name: `Org ${randomUUID()}` } }), {
    success: 201,
    personal: true,
  }),
  row('GET /orgs/{org_id}', org('guest', 'refused'), (place) => ({ path: ofOrg(place) })),
  row('PATCH /orgs/{org_id}', org('admin', 'refused'), (place) => ({
    path: ofOrg(place),
    body: { description: 'New words' },
  })),
  row(
    'PATCH /orgs/{org_id}',
    org('owner', 'refused'),
    (place) => ({ path: ofOrg(place), body: { status: 'active' } }),
    { about: 'its status' },
  ),
  row('DELETE /orgs/{org_id}', org('owner', 'refused'), (place) => ({ path: ofOrg(place, '?confirm=not-its-slug') }), {
    success: 400,
    code: 'invalid_value',
  }),
  row('GET /orgs/{org_id}/members', org('guest', 'refused'), (place) => ({ path: ofOrg(place, '/members') })),
  row(
    'POST /orgs/{org_id}/members',
    org('admin', 'refused'),
    (place) => ({ path: ofOrg(place, '/members'), body: { email: `${randomUUID()}@example.com`, role: 'guest' } }),
    { success: 201 },
  ),
  row('PATCH /orgs/{org_id}/members/{member_id}', org('admin', 'refused'), (place) => ({
    path: ofOrg(place, `/members/${place.extraOrgMember.id}`),
    body: { role: 'member' },
  })),
  row('DELETE /orgs/{org_id}/members/{member_id}', org('admin', 'refused'), async (place) => ({
    path: ofOrg(place, `/members/${(await place.newInvited()).id}`),
  })),

  row('GET /orgs/{org_id}/groups', org('guest', 'refused'), (place) => ({ path: ofOrg(place, '/groups') })),
  row(
    'POST /orgs/{org_id}/groups',
    org('admin', 'refused'),
    (place) => ({ path: ofOrg(place, '/groups'), body: { name: `Group ${randomUUID()}` } }),
    { success: 201 },
  ),
  row('GET /orgs/{org_id}/groups/{group_id}', org('guest', 'refused'), async (place) => ({
    path: ofOrg(place, `/groups/${(await place.newGroup()).id}`),
  })),
  row('PATCH /orgs/{org_id}/groups/{group_id}', org('admin', 'refused'), async (place) => ({
    path: ofOrg(place, `/groups/${(await place.newGroup()).id}`),
    body: { description: 'New words' },
  })),
  row('DELETE /orgs/{org_id}/groups/{group_id}', org('admin', 'refused'), async (place) => ({
    path: ofOrg(place, `/groups/${(await place.newGroup()).id}`),
  })),
  row('GET /orgs/{org_id}/groups/{group_id}/members', org('guest', 'refused'), async (place) => ({
    path: ofOrg(place, `/groups/${(await place.newGroup()).id}/members`),
  })),
  row(
    'PUT /orgs/{org_id}/groups/{group_id}/members/{user_id}',
    org('admin', 'refused'),
    async (place) => ({
      path: ofOrg(place, `/groups/${(await place.newGroup()).id}/members/${place.boss.user.id}`),
    }),
    { success: 201 },
  ),
  row('DELETE /orgs/{org_id}/groups/{group_id}/members/{user_id}', org('admin', 'refused'), async (place) => ({
    path: ofOrg(place, `/groups/${(await place.newGroup()).id}/members/${place.extra.user.id}`),
  })),

  row('GET /workspaces', self('answered'), () => ({ path: '/workspaces' })),
  row('GET /workspaces', org('guest', 'answered'), (place) => ({ path: `/workspaces?org_id=${place.org.id}` }), {
    about: 'of the Org',
  }),
  row('POST /workspaces', self('refused'), () => ({ path: '/workspaces', body: { name: 'Mine' } }), { success: 201 }),
  row(
    'POST /workspaces',
    org('member', 'refused'),
    (place) => ({ path: '/workspaces', body: { name: 'Ours', org_id: place.org.id } }),
    { about: 'in the Org', success: 201 },
  ),
  row('GET /workspaces/{workspace_id}', { kind: 'workspace', least: 'guest', metadata: true }, (place) => ({
    path: ofWorkspace(place),
  })),
  row('PATCH /workspaces/{workspace_id}', workspace('admin'), (place) => ({
    path: ofWorkspace(place),
    body: { description: 'New words' },
  })),
  row('POST /workspaces/{workspace_id}/archive', { kind: 'workspace', least: 'admin', metadata: true }, (place) => ({
    path: ofWorkspace(place, '/archive'),
    body: { mode: 'unarchive' },
  })),
  row('GET /workspaces/{workspace_id}/members', workspace('viewer'), (place) => ({
    path: ofWorkspace(place, '/members'),
  })),
  row(
    'POST /workspaces/{workspace_id}/members',
    workspace('admin'),
    (place) => ({ path: ofWorkspace(place, '/members'), body: { email: `${randomUUID()}@example.com` } }),
    { success: 201 },
  ),
  row('PATCH /workspaces/{workspace_id}/members/{member_id}', workspace('admin'), async (place) => ({
    path: ofWorkspace(place, `/members/${await place.extraMember()}`),
    body: { role: 'viewer' },
  })),
  row('DELETE /workspaces/{workspace_id}/members/{member_id}', workspace('admin'), async (place) => ({
    path: ofWorkspace(place, `/members/${await place.extraMember()}`),
  })),

  row('GET /workspaces/{workspace_id}/resources', workspace('guest'), (place) => ({
    path: ofWorkspace(place, '/resources'),
  })),
  row(
    'POST /resources',
    workspace('editor'),
    (place) => ({ path: '/resources', body: { type: 'folder', name: 'New', workspace_id: place.workspace.id } }),
    { success: 201 },
  ),
  row(
    'POST /resources',
    resource('editor'),
    (place) => ({ path: '/resources', body: { type: 'document', name: 'New', parent_id: place.folder.id } }),
    { about: 'below another', success: 201 },
  ),
  row('GET /resources/{resource_id}', resource('viewer'), (place) => ({ path: ofDocument(place) })),
  row('PATCH /resources/{resource_id}', resource('editor'), (place) => ({
    path: ofDocument(place),
    body: { description: 'New words' },
  })),
  row(
    'PATCH /resources/{resource_id}',
    resource('admin'),
    (place) => ({ path: ofDocument(place), body: { access_mode: 'inherit' } }),
    { about: 'its access' },
  ),
  row('DELETE /resources/{resource_id}', resource('editor'), async (place) => ({
    path: `/resources/${(await place.newDocument()).id}`,
  })),
  row(
    'POST /resources/{resource_id}/copy',
    resource('editor'),
    (place) => ({ path: ofDocument(place, '/copy'), body: {} }),
    { success: 201 },
  ),
  row('POST /resources/{resource_id}/restore', { kind: 'trashed' }, async (place) => ({
    path: `/resources/${(await place.newTrash()).id}/restore`,
    body: {},
  })),
  row('GET /resources/{resource_id}/content', resource('viewer'), (place) => ({ path: ofDocument(place, '/content') })),
  row('PATCH /resources/{resource_id}/content', resource('editor'), (place) => ({
    path: ofDocument(place, '/content'),
    body: { content: `Words ${randomUUID()}` },
  })),
  row(
    'PATCH /resources/{resource_id}/content',
    resource('editor'),
    async (place) => ({
      path: `/resources/${(await place.newArtifact()).id}/content`,
      body: { artifact_type: 'svg', source: '<svg/>', title: 'Drawing' },
    }),
    { about: 'of an artifact' },
  ),
  row(
    'GET /resources/{resource_id}/content',
    resource('viewer'),
    async (place) => ({ path: `/resources/${(await place.newTable()).id}/content?limit=1` }),
    { about: 'of a table' },
  ),
  row(
    'PATCH /resources/{resource_id}/content',
    resource('editor'),
    async (place) => ({
      path: `/resources/${(await place.newTable()).id}/content`,
      body: { columns: [{ name: 'Name' }], rows: [['Acme']] },
    }),
    { about: 'of a table' },
  ),
  row('GET /resources/{resource_id}/snapshots', resource('viewer'), (place) => ({
    path: ofDocument(place, '/snapshots'),
  })),
  row(
    'POST /resources/{resource_id}/snapshots',
    resource('editor'),
    async (place) => ({ path: `/resources/${(await place.newDocument()).id}/snapshots`, body: { name: 'Kept' } }),
    { success: 201 },
  ),
  row('GET /resources/{resource_id}/snapshots/{snapshot_id}', resource('viewer'), async (place) => ({
    path: ofDocument(place, `/snapshots/${(await place.newSnapshot(place.document)).id}`),
  })),
  row('DELETE /resources/{resource_id}/snapshots/{snapshot_id}', resource('admin'), async (place) => {
    const document = await place.newDocument();
    return { path: `/resources/${document.id}/snapshots/${(await place.newSnapshot(document)).id}` };
  }),
  row('GET /resources/{resource_id}/form', resource('viewer'), async (place) => ({
    path: `/resources/${(await place.newForm()).resourceId}/form`,
  })),
  row(
    'POST /resources/{resource_id}/form',
    resource('admin'),
    async (place) => ({
      path: `/resources/${(await place.newTable()).id}/form`,
      body: { config: { title: 'Contact us', fields: [{ id: 'name', type: 'short_text', label: 'Your name' }] } },
    }),
    { success: 201 },
  ),
  row('PATCH /resources/{resource_id}/form', resource('admin'), async (place) => ({
    path: `/resources/${(await place.newForm()).resourceId}/form`,
    body: { is_active: false, rotate_webhook_token: true },
  })),
  row('DELETE /resources/{resource_id}/form', resource('admin'), async (place) => ({
    path: `/resources/${(await place.newForm()).resourceId}/form`,
  })),
  row(
    'POST /forms/{token}/submit',
    { kind: 'tenant-open' },
    async (place) => ({ path: `/forms/${(await place.newForm()).token}/submit`, body: { values: { name: 'Ada' } } }),
    { success: 201 },
  ),
  row('GET /resources/{resource_id}/tags', resource('viewer'), (place) => ({ path: ofDocument(place, '/tags') })),
  row('POST /resources/{resource_id}/tags', resource('editor'), (place) => ({
    path: ofDocument(place, '/tags'),
    body: { name: place.tag.name },
  })),
  row('DELETE /resources/{resource_id}/tags', resource('editor'), (place) => ({
    path: ofDocument(place, `/tags?tag_id=${place.tag.id}`),
  })),
  row('GET /resources/{resource_id}/comments', resource('viewer'), (place) => ({
    path: ofDocument(place, '/comments'),
  })),
  row(
    'POST /resources/{resource_id}/comments',
    resource('commenter'),
    (place) => ({ path: ofDocument(place, '/comments'), body: { body: 'A remark.' } }),
    { success: 201 },
  ),
  row('PATCH /resources/{resource_id}/comments/{comment_id}', resource('commenter'), async (place) => ({
    path: ofDocument(place, `/comments/${place.comment.id}`),
    body: { reactions: ['👍'] },
  })),
  row(
    'PATCH /resources/{resource_id}/comments/{comment_id}',
    resource('editor'),
    async (place) => ({ path: ofDocument(place, `/comments/${place.comment.id}`), body: { status: 'resolved' } }),
    { about: 'the status of another’s thread' },
  ),
  row('DELETE /resources/{resource_id}/comments/{comment_id}', resource('admin'), async (place) => ({
    path: ofDocument(place, `/comments/${(await place.newComment()).id}`),
  })),
  row('GET /resources/{resource_id}/permissions', resource('viewer'), (place) => ({
    path: ofDocument(place, '/permissions'),
  })),
  row(
    'POST /resources/{resource_id}/permissions',
    resource('admin'),
    async (place) => ({
      path: `/resources/${(await place.newDocument()).id}/permissions`,
      body: { principal_type: 'agent', principal_id: (await place.agent()).id, role: 'viewer' },
    }),
    { success: 201 },
  ),
  row('DELETE /resources/{resource_id}/permissions', resource('admin'), async (place) => ({
    path: `/resources/${(await place.newShared()).id}/permissions?principal_type=link`,
  })),
  row('GET /resources/{resource_id}/publish', resource('viewer'), (place) => ({ path: ofDocument(place, '/publish') })),
  row(
    'POST /resources/{resource_id}/publish',
    resource('admin'),
    async (place) => ({ path: `/resources/${(await place.newDocument()).id}/publish`, body: { mode: 'pinned' } }),
    { success: 201 },
  ),
  row('DELETE /resources/{resource_id}/publish', resource('admin'), async (place) => ({
    path: `/resources/${(await place.newPublished()).id}/publish`,
  })),
  row('GET /workspaces/{workspace_id}/publish', workspace('viewer'), (place) => ({
    path: ofWorkspace(place, '/publish'),
  })),
  row(
    'POST /workspaces/{workspace_id}/publish',
    workspace('admin'),
    (place) => ({ path: ofWorkspace(place, '/publish'), body: { slug: 'Not a slug' } }),
    { success: 400, code: 'invalid_slug' },
  ),
  row('PATCH /workspaces/{workspace_id}/publish', workspace('admin'), async (place) => {
    await place.publication();
    return { path: ofWorkspace(place, '/publish'), body: { show_toc: false } };
  }),
  row('GET /resources/{resource_id}/access-requests', resource('viewer'), (place) => ({
    path: ofDocument(place, '/access-requests'),
  })),
  row(
    'POST /resources/{resource_id}/access-requests',
    { kind: 'tenant' },
    (place) => ({ path: ofDocument(place, '/access-requests'), body: { role: 'owner' } }),
    { success: 400, code: 'invalid_value' },
  ),
  row('PATCH /access-requests/{request_id}', { kind: 'theirs' }, async (place) => ({
    path: `/access-requests/${await place.newAccessRequest()}`,
    body: { status: 'denied' },
  })),
  row(
    'POST /files',
    workspace('editor'),
    (place) => ({
      path: '/files',
      body: { name: 'New.txt', content_base64: 'V29yZHM=', workspace_id: place.workspace.id },
    }),
    { success: 201 },
  ),
  row(
    'POST /files',
    resource('editor'),
    (place) => ({ path: '/files', body: { name: 'New.txt', size_bytes: 5, parent_id: place.folder.id } }),
    { about: 'by upload, below another', success: 201 },
  ),
  row(
    'POST /files',
    resource('editor'),
    (place) => ({ path: '/files', body: { replace_resource_id: place.file.id, content_base64: 'TmV3' } }),
    { about: 'a new version', success: 201 },
  ),
  row('GET /resources/{resource_id}/file', resource('viewer'), (place) => ({
    path: `/resources/${place.file.id}/file`,
  })),
  row('GET /credits', self('refused'), () => ({ path: '/credits' })),
  row('GET /credits', self('refused'), () => ({ path: '/credits?view=ledger' }), { about: 'the ledger' }),
  row('GET /usage', self('answered'), () => ({ path: '/usage?group_by=member' })),
  row('PATCH /usage/settings', self('refused'), () => ({ path: '/usage/settings', body: { hard_stop: true } })),
  row('GET /storage/usage', self('answered'), () => ({ path: '/storage/usage' })),
  row(
    'GET /storage/usage',
    { kind: 'workspace', least: 'guest', metadata: true },
    (place) => ({ path: `/storage/usage?workspace_id=${place.workspace.id}` }),
    { about: 'of a workspace' },
  ),
  row('GET /workspaces/{workspace_id}/trash', workspace('viewer'), (place) => ({ path: ofWorkspace(place, '/trash') })),
  row('DELETE /workspaces/{workspace_id}/trash', workspace('admin'), (place) => ({
    path: ofWorkspace(place, '/trash?older_than=2001-01-01T00:00:00Z'),
  })),
  row('GET /workspaces/{workspace_id}/pins', workspace('guest'), (place) => ({ path: ofWorkspace(place, '/pins') })),
  row(
    'POST /workspaces/{workspace_id}/pins',
    workspace('editor'),
    async (place) => ({
      path: ofWorkspace(place, '/pins'),
      body: { resource_id: (await place.newDocument()).id },
    }),
    { success: 201 },
  ),
  row('PATCH /workspaces/{workspace_id}/pins', workspace('editor'), async (place) => ({
    path: ofWorkspace(place, '/pins'),
    body: { pin_id: (await place.pin()).id, position: 0 },
  })),
  row('DELETE /workspaces/{workspace_id}/pins', workspace('editor'), async (place) => ({
    path: ofWorkspace(place, `/pins?pin_id=${(await place.pin()).id}`),
  })),
  row('GET /workspaces/{workspace_id}/connectors', workspace('viewer'), (place) => ({
    path: ofWorkspace(place, '/connectors'),
  })),
  row(
    'POST /workspaces/{workspace_id}/connectors',
    workspace('admin'),
    (place) => ({ path: ofWorkspace(place, '/connectors'), body: HTTP_CONNECTOR }),
    { success: 201 },
  ),
  row('DELETE /workspaces/{workspace_id}/connectors/{connector_id}', workspace('admin'), async (place) => ({
    path: ofWorkspace(place, `/connectors/${(await place.newConnector()).id}`),
  })),
  row('GET /workspaces/{workspace_id}/connections', workspace('guest'), (place) => ({
    path: ofWorkspace(place, '/connections'),
  })),
  row(
    'DELETE /workspaces/{workspace_id}/connections/{connection_id}',
    workspace('guest'),
    (place) => ({ path: ofWorkspace(place, `/connections/${randomUUID()}`) }),
    { success: 404, code: 'not_found' },
  ),
  row('GET /workspaces/{workspace_id}/imports', workspace('guest'), (place) => ({
    path: ofWorkspace(place, '/imports'),
  })),
  row(
    'POST /workspaces/{workspace_id}/imports',
    workspace('editor'),
    (place) => ({
      path: ofWorkspace(place, '/imports'),
      body: { source_type: 'markdown', content: 'x', dry_run: true },
    }),
    { success: 201 },
  ),
  row('GET /imports/{import_id}', { kind: 'theirs' }, async (place) => ({
    path: `/imports/${(await place.import()).id}`,
  })),
  row('DELETE /imports/{import_id}', { kind: 'theirs' }, async (place) => ({
    path: `/imports/${(await place.newImport()).id}`,
  })),
  row(
    'POST /imports/{import_id}/retry',
    { kind: 'theirs' },
    async (place) => ({ path: `/imports/${(await place.import()).id}/retry`, body: {} }),
    { success: 409, code: 'import_active' },
  ),
  row('GET /chat-sessions', self('answered'), () => ({ path: '/chat-sessions' })),
  row(
    'POST /chat-sessions',
    workspace('viewer'),
    (place) => ({ path: '/chat-sessions', body: { workspace_id: place.workspace.id } }),
    { success: 201 },
  ),
  row('GET /chat-sessions/{session_id}', resource('viewer'), async (place) => ({
    path: `/chat-sessions/${(await place.chat()).id}`,
  })),
  row('PATCH /chat-sessions/{session_id}', resource('viewer'), async (place, caller) => ({
    path: await ownChat(place, caller),
    body: { title: 'Renamed' },
  })),
  row('PUT /chat-sessions/{session_id}', resource('viewer'), async (place, caller) => ({
    path: await ownChat(place, caller),
    body: { title: 'Replaced' },
  })),
  row('DELETE /chat-sessions/{session_id}', resource('viewer'), async (place, caller) => ({
    path: await ownChat(place, caller),
  })),
  row('GET /agent-runs', self('answered'), () => ({ path: '/agent-runs' })),
  row(
    'POST /agent-runs',
    workspace('viewer'),
    (place) => ({ path: '/agent-runs', body: { workspace_id: place.workspace.id, input: 'Some words?' } }),
    { success: 201 },
  ),
  row('GET /agent-runs/{run_id}', { kind: 'theirs' }, async (place) => ({
    path: `/agent-runs/${(await place.run()).id}`,
  })),
  row('GET /agent-runs/{run_id}/events', { kind: 'theirs' }, async (place) => ({
    path: `/agent-runs/${(await place.run()).id}/events`,
  })),
  row(
    'POST /agent-runs/{run_id}/cancel',
    { kind: 'theirs' },
    async (place) => ({ path: `/agent-runs/${(await place.run()).id}/cancel`, body: {} }),
    { success: 409, code: 'run_not_cancelable' },
  ),
  row('GET /agent-schedules', self('answered'), () => ({ path: '/agent-schedules' })),
  row(
    'POST /agent-schedules',
    workspace('viewer'),
    async (place) => ({
      path: '/agent-schedules',
      body: {
        ...{ name: 'Yearly', workspace_id: place.workspace.id, agent_id: (await place.agent()).id },
        ...{ cron: '@yearly', input: 'Sum up.' },
      },
    }),
    { success: 201 },
  ),
  row('GET /agent-schedules/{schedule_id}', resource('viewer'), async (place) => ({
    path: `/agent-schedules/${(await place.schedule()).id}`,
  })),
  row('PATCH /agent-schedules/{schedule_id}', resource('admin'), async (place) => ({
    path: `/agent-schedules/${(await place.schedule()).id}`,
    body: { name: 'Once a year' },
  })),
  row('DELETE /agent-schedules/{schedule_id}', resource('admin'), async (place) => ({
    path: `/agent-schedules/${(await place.newSchedule()).id}`,
  })),
  row('GET /im/conversations', self('answered'), () => ({ path: '/im/conversations' })),
  row(
    'POST /im/conversations',
    workspace('viewer'),
    (place) => ({ path: '/im/conversations', body: { type: 'group', workspace_id: place.workspace.id } }),
    { success: 201 },
  ),
  row('GET /im/conversations/{conversation_id}', resource('viewer'), async (place) => ({
    path: `/im/conversations/${(await place.channel()).id}`,
  })),
  row('PATCH /im/conversations/{conversation_id}', resource('viewer'), async (place, caller) => ({
    path: `/im/conversations/${(await ownGroup(place, caller)).id}`,
    body: { topic: 'Another topic' },
  })),
  row('DELETE /im/conversations/{conversation_id}', resource('viewer'), async (place, caller) => ({
    path: `/im/conversations/${(await ownGroup(place, caller)).id}`,
  })),
  row('GET /im/conversations/{conversation_id}/messages', resource('viewer'), async (place, caller) => ({
    path: `/im/conversations/${(await ownGroup(place, caller)).id}/messages`,
  })),
  row(
    'POST /im/conversations/{conversation_id}/messages',
    resource('viewer'),
    async (place, caller) => ({
      path: `/im/conversations/${(await ownGroup(place, caller)).id}/messages`,
      body: { text: 'Hello' },
    }),
    { success: 201 },
  ),
  row('PATCH /im/conversations/{conversation_id}/messages/{message_id}', resource('viewer'), async (place, caller) => {
    const { id, messageId } = await ownGroup(place, caller);
    return { path: `/im/conversations/${id}/messages/${messageId}`, body: { text: 'Hello again' } };
  }),
  row('DELETE /im/conversations/{conversation_id}/messages/{message_id}', resource('viewer'), async (place, caller) => {
    const { id, messageId } = await ownGroup(place, caller);
    return { path: `/im/conversations/${id}/messages/${messageId}` };
  }),
  row(
    'POST /im/conversations/{conversation_id}/members',
    resource('viewer'),
    async (place, caller) => {
      await place.extraMember();
      const path = `/im/conversations/${(await ownGroup(place, caller)).id}/members`;
      return { path, body: { user_id: place.extra.user.id } };
    },
    { success: 201 },
  ),
  row('PATCH /im/conversations/{conversation_id}/settings', resource('viewer'), async (place, caller) => ({
    path: `/im/conversations/${(await ownGroup(place, caller)).id}/settings`,
    body: { is_pinned: true },
  })),
  row('POST /im/conversations/{conversation_id}/read', resource('viewer'), async (place, caller) => ({
    path: `/im/conversations/${(await ownGroup(place, caller)).id}/read`,
    body: {},
  })),
  row('GET /memories', self('answered'), () => ({ path: '/memories' })),
  row('POST /memories', self('refused'), () => ({ path: '/memories', body: { content: `Fact ${randomUUID()}` } }), {
    success: 201,
  }),
  row(
    'POST /memories',
    workspace('editor'),
    ({ workspace: { id } }) => ({ path: '/memories', body: memoryIn({ workspace_id: id, scope: 'workspace' }) }),
    { about: 'of a workspace', success: 201 },
  ),
  row(
    'POST /memories',
    org('admin', 'refused'),
    ({ org: { id } }) => ({ path: '/memories', body: memoryIn({ org_id: id, scope: 'org' }) }),
    { about: 'of the Org', success: 201 },
  ),
  row('GET /memories/{memory_id}', resource('viewer'), async (place) => ({
    path: `/memories/${(await place.memory()).id}`,
  })),
  row('PATCH /memories/{memory_id}', resource('editor'), async (place, caller) => ({
    path: await ownMemory(place, caller),
    body: { is_pinned: true },
  })),
  row('DELETE /memories/{memory_id}', resource('editor'), async (place, caller) => ({
    path: await ownMemory(place, caller),
  })),
  row('GET /work-items', self('answered'), () => ({ path: '/work-items' })),
  row('GET /work-items', workspace('viewer'), ({ workspace: { id } }) => ({ path: `/work-items?workspace_id=${id}` }), {
    about: 'of a workspace',
  }),
  row(
    'POST /work-items',
    workspace('editor'),
    ({ workspace: { id } }) => ({ path: '/work-items', body: { workspace_id: id, title: 'A task' } }),
    { success: 201 },
  ),
  row('GET /work-items/{work_item_id}', resource('viewer'), async (place) => ({
    path: `/work-items/${(await place.workItem()).id}`,
  })),
  row('PATCH /work-items/{work_item_id}', resource('editor'), async (place) => ({
    path: `/work-items/${(await place.workItem()).id}`,
    body: { description: randomUUID() },
  })),
  row('DELETE /work-items/{work_item_id}', resource('editor'), async (place, caller) => ({
    path: await ownWorkItem(place, caller),
  })),
  row(
    'DELETE /work-items/{work_item_id}',
    resource('admin'),
    async (place) => ({ path: `/work-items/${(await place.newWorkItem()).id}` }),
    { about: 'of somebody else' },
  ),
  row('GET /agents/{agent_id}/memories', ofAgent, async (place) => ({
    path: `/agents/${(await place.agent()).id}/memories`,
  })),
  row(
    'POST /agents/{agent_id}/memories',
    self('refused'),
    async (_, caller) => ({ path: `/agents/${await ownAgent(caller)}/memories`, body: memoryIn({}) }),
    { success: 201 },
  ),
  row('DELETE /agents/{agent_id}/memories', self('refused'), async (_, caller) => ({
    path: `/agents/${await ownAgent(caller)}/memories?all=true`,
  })),
  row('GET /agents', self('answered'), () => ({ path: '/agents' })),
  row('POST /agents', self('refused'), () => ({ path: '/agents', body: { name: 'Helper' } }), { success: 201 }),
  row('GET /agents/{agent_id}', ofAgent, async (place) => ({ path: `/agents/${(await place.agent()).id}` })),
  row('PATCH /agents/{agent_id}', self('refused'), async (_, caller) => ({
    path: `/agents/${await ownAgent(caller)}`,
    body: { description: 'New words' },
  })),
  row('DELETE /agents/{agent_id}', self('refused'), async (_, caller) => ({
    path: `/agents/${(await newAgent(caller)).id}`,
  })),
  row('GET /agents/{agent_id}/workspaces', ofAgent, async (place) => ({
    path: `/agents/${(await place.agent()).id}/workspaces`,
  })),
  row('PUT /agents/{agent_id}/workspaces', self('refused'), async (_, caller) => ({
    path: `/agents/${await ownAgent(caller)}/workspaces`,
    body: { workspaces: [] },
  })),
  row('GET /agents/{agent_id}/pins', ofAgent, async (place) => ({ path: `/agents/${(await place.agent()).id}/pins` })),
  row(
    'POST /agents/{agent_id}/pins',
    self('refused'),
    async (_, caller) => ({
      path: `/agents/${await ownAgent(caller)}/pins`,
      body: { resource_id: await ownDocument(caller) },
    }),
    { success: 201 },
  ),
  row('PATCH /agents/{agent_id}/pins', self('refused'), async (_, caller) => {
    const { path, resourceId } = await newAgentPin(caller);
    return { path, body: { resource_id: resourceId, position: 0 } };
  }),
  row('DELETE /agents/{agent_id}/pins', self('refused'), async (_, caller) => {
    const { path, resourceId } = await newAgentPin(caller);
    return { path: `${path}?resource_id=${resourceId}` };
  }),
  row('GET /agents/{agent_id}/skills', ofAgent, async (place) => ({
    path: `/agents/${(await place.agent()).id}/skills`,
  })),
  row('PUT /agents/{agent_id}/skills', self('refused'), async (_, caller) => ({
    path: `/agents/${await ownAgent(caller)}/skills`,
    body: { skills: [] },
  })),
  row('GET /agents/{agent_id}/mcp', ofAgent, async (place) => ({ path: `/agents/${(await place.agent()).id}/mcp` })),
  row(
    'POST /agents/{agent_id}/mcp',
    self('refused'),
    async (_, caller) => ({
      path: `/agents/${(await newAgent(caller)).id}/mcp`,
      body: { name: 'tickets', url: 'https://mcp.example.com/mcp', is_active: false },
    }),
    { success: 201 },
  ),
  row('PATCH /agents/{agent_id}/mcp', self('refused'), async (_, caller) => ({
    path: await ownMcpServer(caller),
    body: { timeout_ms: 5_000 },
  })),
  row('DELETE /agents/{agent_id}/mcp', self('refused'), async (_, caller) => ({
    path: `${await ownMcpServer(caller)}?all=true`,
  })),
  row('GET /agent-approvals', self('answered'), () => ({ path: '/agent-approvals' })),
  // Approvals that runs ask for are tested in approvals.test.ts; here there are none.
  row('GET /agent-approvals/{approval_id}', self('answered'), () => ({ path: `/agent-approvals/${randomUUID()}` }), {
    ...{ success: 404, code: 'not_found' },
  }),
  row(
    'PATCH /agent-approvals/{approval_id}',
    self('answered'),
    () => ({ path: `/agent-approvals/${randomUUID()}`, body: { status: 'approved' } }),
    { success: 404, code: 'not_found' },
  ),
  row('GET /automations', self('answered'), () => ({ path: '/automations' })),
  row(
    'GET /automations',
    workspace('viewer'),
    (place) => ({ path: `/automations?workspace_id=${place.workspace.id}` }),
    { about: 'of a workspace' },
  ),
  row('POST /automations', workspace('editor'), (place) => ({ path: '/automations', body: automationIn(place) }), {
    success: 201,
  }),
  row('GET /automations/{automation_id}', resource('viewer'), async (place) => ({
    path: `/automations/${(await place.automation()).id}`,
  })),
  row('PATCH /automations/{automation_id}', resource('editor'), async (place, caller) => ({
    path: await ownAutomation(place, caller),
    body: { description: 'New words' },
  })),
  row(
    'PATCH /automations/{automation_id}',
    resource('admin'),
    async (place) => ({ path: `/automations/${(await place.automation()).id}`, body: { description: randomUUID() } }),
    { about: 'of somebody else' },
  ),
  row('DELETE /automations/{automation_id}', resource('editor'), async (place, caller) => ({
    path: await ownAutomation(place, caller),
  })),
  row(
    'DELETE /automations/{automation_id}',
    resource('admin'),
    async (place) => ({ path: `/automations/${(await place.newAutomation()).id}` }),
    { about: 'of somebody else' },
  ),
  row(
    'POST /automations/{automation_id}/run',
    resource('editor'),
    async (place) => ({ path: `/automations/${(await place.automation()).id}/run`, body: {} }),
    { success: 201 },
  ),
  row('GET /automations/{automation_id}/runs', resource('viewer'), async (place) => ({
    path: `/automations/${(await place.automation()).id}/runs`,
  })),
  row('GET /automations/{automation_id}/runs/{run_id}', resource('viewer'), async (place) => ({
    path: await place.automationRun(),
  })),
  row(
    'POST /automations/{automation_id}/runs/{run_id}/cancel',
    resource('editor'),
    async (place) => ({ path: `${await place.automationRun()}/cancel`, body: {} }),
    { success: 409, code: 'run_not_cancelable' },
  ),
  row(
    'POST /automations/{automation_id}/runs/{run_id}/retry',
    resource('editor'),
    async (place) => ({ path: `${await place.automationRun()}/retry`, body: {} }),
    { success: 409, code: 'run_not_retryable' },
  ),
  row('GET /models', self('answered'), () => ({ path: '/models' })),
  row('GET /events', self('answered'), () => ({ path: '/events' })),
  row('GET /events', workspace('guest'), (place) => ({ path: `/events?workspace_id=${place.workspace.id}` }), {
    about: 'of a workspace',
  }),
  row('GET /audit-events', self('answered'), () => ({ path: '/audit-events' })),
  row(
    'GET /audit-events',
    org('admin', 'answered', 'org_admin_required'),
    (place) => ({ path: `/audit-events?org_id=${place.org.id}` }),
    { about: 'of the Org' },
  ),
  row('GET /notifications', self('answered'), () => ({ path: '/notifications' })),
  row('PATCH /notifications', self('answered'), () => ({ path: '/notifications', body: { all: true, is_read: true } })),
  row('DELETE /notifications', self('answered'), () => ({ path: `/notifications?ids=${randomUUID()}` })),
  row('GET /workspaces/{workspace_id}/tags', workspace('viewer'), (place) => ({ path: ofWorkspace(place, '/tags') })),
  row('POST /workspaces/{workspace_id}/tags', workspace('viewer'), (place) => ({
    path: ofWorkspace(place, '/tags'),
    body: {},
  })),
  row(
    'POST /workspaces/{workspace_id}/tags',
    workspace('editor'),
    (place) => ({ path: ofWorkspace(place, '/tags'), body: { name: `Tag ${randomUUID()}` } }),
    { about: 'creating', success: 201 },
  ),
  row('PATCH /tags/{tag_id}', workspace('editor'), async (place) => ({
    path: `/tags/${(await place.newTag()).id}`,
    body: {},
  })),
  row('DELETE /tags/{tag_id}', workspace('editor'), async (place) => ({ path: `/tags/${(await place.newTag()).id}` })),
  row('GET /workspace-templates', self('answered'), () => ({ path: '/workspace-templates' })),
  row(
    'POST /workspace-templates',
    self('refused'),
    () => ({ path: '/workspace-templates', body: { name: 'Mine', tree: [{ type: 'folder', name: 'Folder' }] } }),
    { success: 201 },
  ),
  row(
    'POST /workspace-templates',
    workspace('editor'),
    (place) => ({
      path: '/workspace-templates',
      body: { name: 'Of a workspace', source_workspace_id: place.workspace.id },
    }),
    { about: 'of a workspace', success: 201, orLater: true },
  ),
  row('GET /workspace-templates/{template_id}', self('refused'), async (_, caller) => ({
    path: `/workspace-templates/${(await newTemplate(caller)).id}`,
  })),
  row('DELETE /workspace-templates/{template_id}', self('refused'), async (_, caller) => ({
    path: `/workspace-templates/${(await newTemplate(caller)).id}`,
  })),
  row('POST /search', self('answered'), () => ({ path: '/search', body: { query: 'words' } })),
  row(
    'POST /search',
    workspace('guest'),
    (place) => ({ path: '/search', body: { query: 'words', workspace_ids: [place.workspace.id] } }),
    { about: 'in a workspace' },
  ),
];

interface Made {
  readonly id: string;
}

/** Creates an agent of the caller in the tenant of their credential. */
async function newAgent(caller: Api): Promise<Made> {
  return (await caller.post<Made>('/agents', { name: 'Helper' })).data;
}

const agents = new WeakMap<Api, Promise<Made>>();
const workspaces = new WeakMap<Api, Promise<Made>>();

/** Returns the id of the caller's agent, which is created by the first call. */
async function ownAgent(caller: Api): Promise<string> {
  const made = agents.get(caller) ?? newAgent(caller);
  agents.set(caller, made);
  return (await made).id;
}

/** Creates a document in a workspace of the caller. Returns its id. */
async function ownDocument(caller: Api): Promise<string> {
  const made = workspaces.get(caller) ?? caller.post<Made>('/workspaces', { name: 'Own' }).then(({ data }) => data);
  workspaces.set(caller, made);
  const body = { workspace_id: (await made).id, type: 'document', name: 'Pinned' };
  return (await caller.post<Made>('/resources', body)).data.id;
}

/** Pins a new document to the caller's agent. */
async function newAgentPin(caller: Api): Promise<{ readonly path: string; readonly resourceId: string }> {
  const path = `/agents/${await ownAgent(caller)}/pins`;
  const resourceId = await ownDocument(caller);
  await caller.post(path, { resource_id: resourceId });
  return { path, resourceId };
}

/** Creates an agent of the caller with one MCP server. Returns the path of the agent's servers. */
async function ownMcpServer(caller: Api): Promise<string> {
  const path = `/agents/${(await newAgent(caller)).id}/mcp`;
  await caller.post(path, { name: 'tickets', url: 'https://mcp.example.com/mcp', is_active: false });
  return path;
}

async function newTemplate(caller: Api): Promise<{ readonly id: string }> {
  const body = { name: 'Mine', tree: [{ type: 'folder', name: 'Folder' }] };
  return (await caller.post<{ readonly id: string }>('/workspace-templates', body)).data;
}

/** Returns the fields of a memory with a unique text. */
const memoryIn = (about: object) => ({ content: `Fact ${randomUUID()}`, ...about });

/**
 * Returns the path of a new memory of the caller in the workspace, or of another person's memory if the caller may not
 * create one.
 */
async function ownMemory(place: Place, caller: Api): Promise<string> {
  const body = memoryIn({ scope: 'workspace', workspace_id: place.workspace.id });
  const created = await caller.post<{ id: string }>('/memories', body);
  return `/memories/${created.status === 201 ? created.data.id : (await place.memory()).id}`;
}

/** Returns the fields of an automation that does nothing. */
const automationIn = ({ workspace: { id } }: Pick<Place, 'workspace'>) => ({
  ...{ name: 'Automation', workspace_id: id, trigger: { type: 'manual' }, actions: [{ type: 'stop' }] },
});

/**
 * Returns the path of a new automation of the caller in the workspace, or of another person's if the caller may not
 * create one.
 */
async function ownAutomation(place: Place, caller: Api): Promise<string> {
  const created = await caller.post<Made>('/automations', automationIn(place));
  return `/automations/${created.status === 201 ? created.data.id : (await place.automation()).id}`;
}

/**
 * Returns the path of a new work item of the caller in the workspace, or of another person's if the caller may not
 * create one.
 */
async function ownWorkItem(place: Place, caller: Api): Promise<string> {
  const body = { title: 'A task', workspace_id: place.workspace.id };
  const created = await caller.post<{ id: string }>('/work-items', body);
  return `/work-items/${created.status === 201 ? created.data.id : (await place.workItem()).id}`;
}

/** Returns the path of a new chat session of the caller, or of another person's if the caller may not create one. */
async function ownChat(place: Place, caller: Api): Promise<string> {
  const created = await caller.post<{ id: string }>('/chat-sessions', { workspace_id: place.workspace.id });
  return `/chat-sessions/${created.status === 201 ? created.data.id : (await place.chat()).id}`;
}

/** Returns a new group of the caller with a message, or the channel of the boss if the caller may not create one. */
async function ownGroup(place: Place, caller: Api): Promise<{ readonly id: string; readonly messageId: string }> {
  const body = { type: 'group', workspace_id: place.workspace.id };
  const created = await caller.post<{ id: string }>('/im/conversations', body);
  if (created.status !== 201) return place.channel();
  const { id } = created.data;
  const sent = await caller.post<{ id: string }>(`/im/conversations/${id}/messages`, { text: 'Hello' });
  return { id, messageId: sent.data.id };
}

function row(endpoint: string, gate: Gate, request: Row['request'], more: Partial<Row> = {}): Row {
  const limited = 'limited' in gate && { limited: gate.limited };
  return { endpoint: endpoint.replace(' ', ' /api/v1'), gate, request, success: 200, ...limited, ...more };
}

export function methodOf({ endpoint }: Row): string {
  return endpoint.split(' ')[0] as string;
}

export interface Outcome {
  readonly status: number;
  /** Code of an error. */
  readonly code?: string;
}

export const NOT_FOUND: Outcome = { status: 404, code: 'not_found' };
export const BEYOND: Outcome = { status: 403, code: 'tenant_boundary' };
const REFUSED: Outcome = { status: 403, code: 'insufficient_role' };

/** Returns the expected outcome for a caller with certain roles (api: 2.3). */
export function outcomeOf(
  { gate, success, code }: Row,
  roles: { readonly org?: OrgRole; readonly workspace?: WorkspaceRole },
): Outcome {
  const allowed: Outcome = code === undefined ? { status: success } : { status: success, code };
  const inWorkspace = (least: WorkspaceRole) => isAtLeast(WORKSPACE_ROLES, roles.workspace, least);
  const inOrg = (least: OrgRole) => isAtLeast(ORG_ROLES, roles.org, least);
  switch (gate.kind) {
    case 'self':
      return allowed;
    case 'org':
      if (roles.org === undefined) return NOT_FOUND;
      return inOrg(gate.least) ? allowed : { status: 403, code: gate.refusal ?? 'insufficient_role' };
    case 'hidden':
      return inOrg(gate.least) ? allowed : NOT_FOUND;
    case 'workspace':
      // Administrators of the Org can see only that the workspace exists.
      if (roles.workspace === undefined) return inOrg('admin') ? (gate.metadata ? allowed : REFUSED) : NOT_FOUND;
      return inWorkspace(gate.least) ? allowed : REFUSED;
    case 'resource':
      if (!inWorkspace('viewer')) return NOT_FOUND;
      return inWorkspace(gate.least) ? allowed : REFUSED;
    case 'tenant':
      return inOrg('member') || roles.workspace !== undefined ? allowed : NOT_FOUND;
    case 'tenant-open':
      return roles.org !== undefined || roles.workspace !== undefined ? allowed : BEYOND;
    case 'trashed':
      return inWorkspace('editor') ? allowed : NOT_FOUND;
    case 'theirs':
      return inWorkspace('admin') ? allowed : NOT_FOUND;
    case 'agent':
      return inWorkspace('viewer') || inOrg('admin') ? allowed : NOT_FOUND;
  }
}

/** Returns the expected outcome for an owner of the Org with a key that is limited to workspaces of the Org. */
export function outcomeOfLimited(row: Row, isTheirs: boolean): Outcome {
  if (addressesNoWorkspace(row)) {
    if (row.limited === undefined)
      throw new Error(`${row.endpoint}: the row lacks the outcome (limited) for keys limited to workspaces`);
    if (row.limited === 'refused') return BEYOND;
  } else if (!isTheirs) return BEYOND;
  return outcomeOf(row, { org: 'owner', workspace: 'owner' });
}

/** Returns whether a row's request is about the caller, their tenant or an Org. */
export function addressesNoWorkspace({ gate: { kind } }: Row): boolean {
  return kind === 'self' || kind === 'org' || kind === 'hidden';
}

/** Returns whether a role is at least another one. Ladders list the greatest role first. */
function isAtLeast<T>(ladder: readonly T[], role: T | undefined, least: T): boolean {
  return role !== undefined && ladder.indexOf(role) <= ladder.indexOf(least);
}
