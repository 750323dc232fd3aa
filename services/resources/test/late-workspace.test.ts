import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import { derivedId, newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { CreateTemplateRequest } from '@commonplace/proto/resources/v1/template_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jobCollection, type TreeJob } from '../src/nodes/jobs.js';
import { nodeCollection } from '../src/nodes/records.js';
import { openWorld, type World } from './stage.js';

let world: World;
let use: (workspaceId: string) => Promise<unknown>;
let templateId: string;

beforeAll(async () => {
  world = await openWorld();
  const member = world.member(WorkspaceRole.ADMIN);
  const boss = { ...member, credential: { ...member.credential, scopes: KNOWN_SCOPES } };
  const tree = Buffer.from(JSON.stringify([{ type: 'document', name: 'Copied' }]));
  const templates = world.stage.host.client(contracts.templates);
  const created = templates.createTemplate(
    CreateTemplateRequest.fromPartial({ name: 'T', tree }),
    await world.stage.as(boss),
  );
  templateId = (await created).id;
  use = async (workspaceId) => {
    const { applyTemplate } = world.stage.host.client(contracts.templateUse);
    return applyTemplate({ templateId, workspaceId, orgId: undefined }, await world.stage.as(boss));
  };
});

afterAll(() => world.stage.close());

/** Changes the job that waits for the creation of a workspace from the template. */
async function changeJob(workspaceId: string, change: Partial<TreeJob>): Promise<void> {
  const { store } = world.stage.own;
  const jobs = await store.collection(jobCollection);
  const job = (await jobs.get(derivedId(`apply:${templateId}:${workspaceId}`))) as TreeJob;
  const work = store.begin();
  work.replace(jobs, job, { ...job, ...change });
  await work.commit();
}

async function copiesIn(workspaceId: string): Promise<number> {
  const nodes = await world.stage.own.store.collection(nodeCollection);
  return (await nodes.find({ where: { workspaceId }, limit: 10 })).length;
}

const late = (): Partial<TreeJob> => ({
  createdAt: new Date(Date.now() - 180_000).toISOString(),
  leaseUntil: new Date().toISOString(),
});

test('what was copied for a workspace that is not created in time is deleted', async () => {
  const workspaceId = newId();
  await use(workspaceId);
  expect(await copiesIn(workspaceId)).toBe(1);
  await changeJob(workspaceId, late());
  await eventually(async () => expect(await copiesIn(workspaceId)).toBe(0));
});

test('a repeated request keeps what was copied for its workspace', async () => {
  const workspaceId = newId();
  await use(workspaceId);
  let asked = 0;
  world.whenAskedFor(async () => {
    if (asked++ === 0) await use(workspaceId);
  });
  await changeJob(workspaceId, late());
  await eventually(() => expect(asked).toBeGreaterThan(0));
  world.whenAskedFor(async () => {});
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await copiesIn(workspaceId)).toBe(1);
});

test('a repeated request waits until what was copied before is deleted', async () => {
  const workspaceId = newId();
  await use(workspaceId);
  await changeJob(workspaceId, { discards: true });
  await expect(use(workspaceId)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 2 });
});
