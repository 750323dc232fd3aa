import { AGENT_SCOPES, type Caller } from '@commonplace/kit/auth';
import type { Client } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import {
  ContentMode,
  type ContentService,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { CopyResourceRequest } from '@commonplace/proto/resources/v1/copy_service.js';
import { UntrustedAuthor } from '@commonplace/proto/resources/v1/index_service.js';
import { GranteeType } from '@commonplace/proto/resources/v1/permission.js';
import { AccessMode, ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ListSnapshotsRequest, type SnapshotService } from '@commonplace/proto/resources/v1/snapshot_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openSharingStage, type SharingStage } from './sharing-stage.js';

let s: SharingStage;
let content: Client<ContentService>;
let snapshots: Client<SnapshotService>;
let owner: Caller;
let guest: Caller;
let workspaceId: string;

beforeAll(async () => {
  s = await openSharingStage();
  content = s.stage.host.client(contracts.content);
  snapshots = s.stage.host.client(contracts.snapshots);
  const org = s.tenancy.org();
  const workspace = s.tenancy.workspace(org);
  workspaceId = workspace.id;
  owner = s.tenancy.person('Owner');
  guest = s.tenancy.person('Guest');
  for (const { userId } of [owner, guest]) org.roles.set(userId, OrgRole.MEMBER);
  workspace.roles.set(owner.userId, WorkspaceRole.OWNER);
  workspace.roles.set(guest.userId, WorkspaceRole.GUEST);
});
afterAll(() => s.stage.close());

const create = (by: Caller, more: object = {}) =>
  s.create(by, { type: ResourceType.DOCUMENT, workspaceId, content: Buffer.from('"Text."'), ...more });

const append = async (by: Caller, resourceId: string, metadata: object = {}) =>
  content.replaceContent(
    ReplaceContentRequest.fromPartial({ resourceId, mode: ContentMode.APPEND, markdown: 'More.' }),
    await s.stage.as(by, metadata),
  );

async function factsOf(id: string) {
  const { resources } = await s.index.checkAccess({ ids: [id] }, await s.stage.as(owner));
  const [found] = resources;
  return [found?.untrusted, found?.isShared, found?.boundaryId];
}

const agentOf = (person: Caller, more: object = {}): Caller => ({
  ...person,
  credential: {
    type: 'internal',
    id: `act_${person.userId}_scribe`,
    scopes: AGENT_SCOPES,
    workspaceIds: [workspaceId],
  },
  agent: { id: 'scribe', name: 'Scribe', roles: { [workspaceId]: 'editor' }, ...more },
});

describe('the untrusted authors of a resource', () => {
  test('are none while members write it, themselves or through an agent', async () => {
    const { id } = await create(owner);
    await append(owner, id);
    await append(agentOf(owner), id);
    expect(await factsOf(id)).toEqual([[], false, workspaceId]);
  });

  test('include a guest who has written it, whoever writes afterwards', async () => {
    const { id } = await create(owner);
    await s.grant(owner, id, { principalType: GranteeType.USER, principalId: guest.userId, role: ResourceRole.EDITOR });
    expect(await factsOf(id)).toEqual([[], true, workspaceId]);
    await append(guest, id);
    await append(owner, id);
    expect(await factsOf(id)).toEqual([[UntrustedAuthor.GUEST], true, workspaceId]);
  });

  test('include an agent that has read untrusted text, also in what it creates', async () => {
    const tainted = agentOf(owner, { tainted: true });
    const { id } = await create(owner);
    await append(tainted, id);
    expect(await factsOf(id)).toEqual([[UntrustedAuthor.AGENT], false, workspaceId]);
    const made = await create(tainted);
    expect(await factsOf(made.id)).toEqual([[UntrustedAuthor.AGENT], false, workspaceId]);
  });

  test('are copied with it', async () => {
    const { id } = await create(agentOf(owner, { tainted: true }));
    const { resource } = await s.copies.copyResource(
      CopyResourceRequest.fromPartial({ resourceId: id, name: 'Copy', workspaceId }),
      await s.stage.as(owner),
    );
    expect(await factsOf(resource?.id ?? '')).toEqual([[UntrustedAuthor.AGENT], false, workspaceId]);
  });

  test('come with the id of its restriction as the boundary', async () => {
    const folder = await s.create(owner, { workspaceId, accessMode: AccessMode.RESTRICTED });
    const inside = await create(owner, { workspaceId: undefined, parentId: folder.id });
    expect(await factsOf(inside.id)).toEqual([[], false, folder.id]);
  });
});

describe('a write of an agent', () => {
  test('is made once under one key, and keeps the replaced content in a snapshot', async () => {
    const { id } = await create(owner);
    const agent = agentOf(owner);
    const idempotency = { id: `call ${id}`, fingerprint: 'x' };
    const [first, again] = [await append(agent, id, { idempotency }), await append(agent, id, { idempotency })];
    expect(again).toEqual(first);
    expect(first.updatedBy).toMatchObject({ id: 'scribe', name: 'Scribe' });
    const request = ListSnapshotsRequest.fromPartial({ resourceId: id, page: { limit: 10, offset: 0, cursor: '' } });
    const { items } = await snapshots.listSnapshots(request, await s.stage.as(owner));
    expect(items.map(({ reason }) => reason)).toEqual(['SNAPSHOT_REASON_AGENT_RUN']);
  });
});
