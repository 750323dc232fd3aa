import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { contracts } from '@commonplace/platform/contracts';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openSharingStage, type SharingStage } from './sharing-stage.js';

let s: SharingStage;
let boss: Caller;
let workspaceId: string;

beforeAll(async () => {
  s = await openSharingStage();
  const org = s.tenancy.org();
  const workspace = s.tenancy.workspace(org);
  boss = s.tenancy.person('Boss');
  org.roles.set(boss.userId, OrgRole.MEMBER);
  workspace.roles.set(boss.userId, WorkspaceRole.OWNER);
  workspaceId = workspace.id;
});
afterAll(() => s.stage.close());

test('a late text of a former version does not revert the node', async () => {
  const nodes = s.stage.host.client(contracts.fileNodes);
  const system = () => s.stage.as(undefined);
  const [id, first, second] = [newId(), newId(), newId()];
  const is = (sizeBytes: number) => ({ contentType: 'text/plain', sizeBytes, status: 'ready' });
  const place = { name: 'words.txt', workspaceId, parentId: undefined, sourceUrl: undefined };
  await nodes.createFileNode({ id, revision: first, file: is(1), ...place }, await s.stage.as(boss));
  const replaced = { id, revision: second, file: is(2), bytesChanged: true, textChanged: false, actor: undefined };
  await nodes.setFileState(replaced, await system());
  const late = { id, revision: first, file: is(1), bytesChanged: false, textChanged: true, actor: undefined };
  await nodes.setFileState(late, await system());
  // The replacing call is retried after it lost a race against the text.
  await nodes.setFileState(replaced, await system());
  const { resource } = await nodes.getFileNode({ id, toWrite: false }, await s.stage.as(boss));
  expect(resource).toMatchObject({ contentVersion: 2, sizeBytes: 2 });
});
