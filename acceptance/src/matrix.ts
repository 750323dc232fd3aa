import { randomUUID } from 'node:crypto';
import type { Api } from './client.js';
import { newKey } from './people.js';
import { HTTP_CONNECTOR, ORG_ROLES, type OrgRole, type Place, WORKSPACE_ROLES, type WorkspaceRole } from './world.js';

/** Who may call an endpoint with the request that a row makes (api: 3.2, 3.3, 6 to 10, 15). */
export type Gate =
  /** Anybody, on what is theirs. */
  | { readonly kind: 'self' }
  /** Members of the Org from a role on; `refusal` where the code is not `insufficient_role`. */
  | { readonly kind: 'org'; readonly least: OrgRole; readonly refusal?: string }
  /** Who can't see the record does not learn that it is there, whatever their place in the Org. */
  | { readonly kind: 'hidden'; readonly least: OrgRole }
  /** Members of the workspace from a role on. `metadata` is open to administrators of the Org as well. */
  | { readonly kind: 'workspace'; readonly least: WorkspaceRole; readonly metadata?: boolean }
  /** Members of the workspace, by the role at the tree's root; guests see nothing. */
  | { readonly kind: 'resource'; readonly least: WorkspaceRole }
  /** People of the same tenant but guests of the Org, whether they see the resource or not. */
  | { readonly kind: 'tenant' }
  /** The same for what lies in the trash: to others than writers it is not there. */
  | { readonly kind: 'trashed' }
  /** Everybody of the tenant, whatever their place in the workspace: what is named is open, and others' keys are refused. */
  | { readonly kind: 'tenant-open' }
  /** What is somebody else's: only administrators of the workspace see it as well. */
  | { readonly kind: 'theirs' };

export interface Call {
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** One endpoint with one valid request. */
export interface Row {
  /** `GET /api/v1/me` */
  readonly endpoint: string;
  /** What is special about the request, where an endpoint has several rows. */
  readonly about?: string;
  readonly gate: Gate;
  /** Status for those who may. */
  readonly success: number;
  /** Answered 202 where there is much to do. */
  readonly orLater?: true;
  /** Code for those who may, where the request is made to fail behind the gates, for it can't be undone. */
  readonly code?: string;
  /** An Org's key may not do it, whoever it acts as. */
  readonly personal?: boolean;
  /** Makes the request, with targets of its own where it uses them up. */
  readonly request: (place: Place, caller: Api) => Call | Promise<Call>;
}

const self: Gate = { kind: 'self' };
const org = (least: OrgRole, refusal?: string): Gate => ({ kind: 'org', least, ...(refusal && { refusal }) });
const workspace = (least: WorkspaceRole): Gate => ({ kind: 'workspace', least });
const resource = (least: WorkspaceRole): Gate => ({ kind: 'resource', least });

const ofOrg = ({ org: { id } }: Place, rest = '') => `/orgs/${id}${rest}`;
const ofWorkspace = ({ workspace: { id } }: Place, rest = '') => `/workspaces/${id}${rest}`;
const ofDocument = ({ document: { id } }: Place, rest = '') => `/resources/${id}${rest}`;

/** Every endpoint, at least once. */
export const rows: readonly Row[] = [
  row('GET /capabilities', self, () => ({ path: '/capabilities' })),
  row('GET /me', self, () => ({ path: '/me' })),

  row('GET /api-keys', self, () => ({ path: '/api-keys' })),
  row('GET /api-keys', org('guest'), (place) => ({ path: `/api-keys?org_id=${place.org.id}` }), {
    about: 'of the Org',
  }),
  row('POST /api-keys', self, () => ({ path: '/api-keys', body: { name: 'Key', scopes: ['org:read'] } }), {
    success: 201,
  }),
  row(
    'POST /api-keys',
    org('admin', 'org_admin_required'),
    (place) => ({ path: '/api-keys', body: { name: 'Key', scopes: ['org:read'], org_id: place.org.id } }),
    { about: 'of the Org', success: 201 },
  ),
  row('DELETE /api-keys/{key_id}', self, async (_, caller) => {
    const { id } = await newKey(caller, ['org:read']);
    return { path: `/api-keys/${id}` };
  }),
  row(
    'DELETE /api-keys/{key_id}',
    { kind: 'hidden', least: 'admin' },
    async (place) => ({ path: `/api-keys/${(await place.newOrgKey()).id}` }),
    { about: 'of the Org' },
  ),

  row('GET /orgs', self, () => ({ path: '/orgs' })),
  row('POST /orgs', self, () => ({ path: '/orgs', body: { name: `Org ${randomUUID()}` } }), {
    success: 201,
    personal: true,
  }),
  row('GET /orgs/{org_id}', org('guest'), (place) => ({ path: ofOrg(place) })),
  row('PATCH /orgs/{org_id}', org('admin'), (place) => ({ path: ofOrg(place), body: { description: 'New words' } })),
  row('PATCH /orgs/{org_id}', org('owner'), (place) => ({ path: ofOrg(place), body: { status: 'active' } }), {
    about: 'its status',
  }),
  row('DELETE /orgs/{org_id}', org('owner'), (place) => ({ path: ofOrg(place, '?confirm=not-its-slug') }), {
    success: 400,
    code: 'invalid_value',
  }),
  row('GET /orgs/{org_id}/members', org('guest'), (place) => ({ path: ofOrg(place, '/members') })),
  row(
    'POST /orgs/{org_id}/members',
    org('admin'),
    (place) => ({ path: ofOrg(place, '/members'), body: { email: `${randomUUID()}@example.com`, role: 'guest' } }),
    { success: 201 },
  ),
  row('PATCH /orgs/{org_id}/members/{member_id}', org('admin'), (place) => ({
    path: ofOrg(place, `/members/${place.extraOrgMember.id}`),
    body: { role: 'member' },
  })),
  row('DELETE /orgs/{org_id}/members/{member_id}', org('admin'), async (place) => ({
    path: ofOrg(place, `/members/${(await place.newInvited()).id}`),
  })),

  row('GET /workspaces', self, () => ({ path: '/workspaces' })),
  row('GET /workspaces', org('guest'), (place) => ({ path: `/workspaces?org_id=${place.org.id}` }), {
    about: 'of the Org',
  }),
  row('POST /workspaces', self, () => ({ path: '/workspaces', body: { name: 'Mine' } }), { success: 201 }),
  row(
    'POST /workspaces',
    org('member'),
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
      body: { principal_type: 'agent', principal_id: randomUUID(), role: 'viewer' },
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
  row('PATCH /access-requests/{request_id}', resource('admin'), async (place) => ({
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
  row('GET /storage/usage', self, () => ({ path: '/storage/usage' })),
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
  row('GET /models', self, () => ({ path: '/models' })),
  row('GET /notifications', self, () => ({ path: '/notifications' })),
  row('PATCH /notifications', self, () => ({ path: '/notifications', body: { all: true, is_read: true } })),
  row('DELETE /notifications', self, () => ({ path: `/notifications?ids=${randomUUID()}` })),
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
  row('GET /workspace-templates', self, () => ({ path: '/workspace-templates' })),
  row(
    'POST /workspace-templates',
    self,
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
  row('GET /workspace-templates/{template_id}', self, async (_, caller) => ({
    path: `/workspace-templates/${(await newTemplate(caller)).id}`,
  })),
  row('DELETE /workspace-templates/{template_id}', self, async (_, caller) => ({
    path: `/workspace-templates/${(await newTemplate(caller)).id}`,
  })),
  row('POST /search', self, () => ({ path: '/search', body: { query: 'words' } })),
  row(
    'POST /search',
    workspace('guest'),
    (place) => ({ path: '/search', body: { query: 'words', workspace_ids: [place.workspace.id] } }),
    { about: 'in a workspace' },
  ),
];

async function newTemplate(caller: Api): Promise<{ readonly id: string }> {
  const body = { name: 'Mine', tree: [{ type: 'folder', name: 'Folder' }] };
  return (await caller.post<{ readonly id: string }>('/workspace-templates', body)).data;
}

function row(endpoint: string, gate: Gate, request: Row['request'], more: Partial<Row> = {}): Row {
  return { endpoint: endpoint.replace(' ', ' /api/v1'), gate, request, success: 200, ...more };
}

export function methodOf({ endpoint }: Row): string {
  return endpoint.split(' ')[0] as string;
}

export interface Outcome {
  readonly status: number;
  /** Of an error. */
  readonly code?: string;
}

export const NOT_FOUND: Outcome = { status: 404, code: 'not_found' };
export const BEYOND: Outcome = { status: 403, code: 'tenant_boundary' };
const REFUSED: Outcome = { status: 403, code: 'insufficient_role' };

/** What somebody of certain roles is answered (api: 2.3). */
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
      // Administrators of the Org see that it is there, and no more.
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
  }
}

/** Ladders name the greatest role first. */
function isAtLeast<T>(ladder: readonly T[], role: T | undefined, least: T): boolean {
  return role !== undefined && ladder.indexOf(role) <= ladder.indexOf(least);
}
