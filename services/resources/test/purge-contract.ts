import type { OpenedStore } from '@commonplace/adapters/testing';
import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { StoredRecord } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { commentCollection } from '../src/comments/records.js';
import { contentCollection } from '../src/documents/kind/records.js';
import { nodeCollection } from '../src/nodes/records.js';
import { templateCollection } from '../src/templates/records.js';

import { openSharingStage, type SharingStage } from './sharing-stage.js';
import type { PlayedOrg } from './tenancy.js';

let s: SharingStage;

interface Filled {
  readonly org: PlayedOrg;
  readonly workspaceId: string;
  readonly ids: readonly string[];
}

/** Creates an Org with a template, and a workspace with live, trashed and shared resources. */
async function fill(): Promise<Filled> {
  const org = s.tenancy.org();
  const workspace = s.tenancy.workspace(org);
  const owner: Caller = s.tenancy.person('Owner');
  org.roles.set(owner.userId, OrgRole.OWNER);
  workspace.roles.set(owner.userId, WorkspaceRole.OWNER);
  const folder = await s.create(owner, { workspaceId: workspace.id });
  const page = { type: ResourceType.DOCUMENT, content: Buffer.from(JSON.stringify('A page.')) };
  const below = await s.create(owner, { parentId: folder.id, ...page });
  const trashed = await s.create(owner, { workspaceId: workspace.id, ...page });
  await s.resources.deleteResource({ resourceId: trashed.id }, await s.stage.as(owner));
  const { store } = s.stage.own;
  const work = store.begin();
  const list = { listKey: `org:${org.id}`, name: 'T', nameFold: 't' };
  work.insert(await store.collection(templateCollection), { id: newId(), tenant: org.id, ...list } as never);
  await work.commit();
  return { org, workspaceId: workspace.id, ids: [folder.id, below.id, trashed.id] };
}

const purged = (what: 'workspace' | 'org', subject: string, tenant: string, data: object) =>
  s.stage.host.bus.publish([
    {
      ...{ id: newId(), type: `commonplace.tenancy.${what}.purged`, subject, tenant, time: new Date().toISOString() },
      data,
    } as never,
  ]);

/** Returns the number of records of a tenant in each collection. */
async function countAll(tenant: string): Promise<Record<string, number>> {
  const specs = [nodeCollection, contentCollection, commentCollection, templateCollection];
  const counts = specs.map(async (spec) => {
    const records = await s.stage.own.store.collection<StoredRecord & { tenant: string }>(spec as never);
    const all = await records.find({ where: {}, limit: 10_000 });
    return [spec.name, all.filter((record) => record.tenant === tenant).length] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

/** Tests that what purged Orgs and workspaces contained is deleted, on SQLite unless `open` opens another store. */
export function purgeContract(name: string, open?: () => Promise<OpenedStore>): void {
  describe(`purges on ${name}`, () => {
    let opened: OpenedStore | undefined;

    beforeAll(async () => {
      opened = await open?.();
      s = await openSharingStage(undefined, [], opened?.store);
    });
    afterAll(async () => {
      await s.stage.close();
      await opened?.close();
    });

    test('nothing of a purged Org is left, what was live is told as purged, and others keep all of theirs', async () => {
      const [leaving, staying] = [await fill(), await fill()];
      const before = await countAll(staying.org.id);
      expect(before).toMatchObject({ nodes: 3, contents: 2, templates: 1 });
      const { org, workspaceId } = leaving;
      await purged('workspace', workspaceId, org.id, { workspaceId, orgId: org.id });
      await purged('org', org.id, org.id, { orgId: org.id });
      await eventually(async () => {
        expect(Object.values(await countAll(org.id)).every((count) => count === 0)).toBe(true);
      });
      await eventually(() => {
        // A store of its own delivers no events.
        if (opened !== undefined) return;
        const told = s.events
          .filter(({ type }) => type.endsWith('resource.purged'))
          .flatMap(({ data }) => data.resourceIds as string[]);
        expect(told.sort()).toEqual([...leaving.ids].sort());
      });
      expect(await countAll(staying.org.id)).toEqual(before);
    });
  });
}
