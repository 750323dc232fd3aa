import { folderOf } from '@commonplace/acceptance/dist/src/handbook.js';
import { newAddress, newKey, signUp, tokenOf } from '@commonplace/acceptance/dist/src/people.js';
import type { Member } from '@commonplace/acceptance/dist/src/records.js';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Bench, Measured } from '../bench.js';
import { createResource, type Made } from '../fill.js';
import { type Client, openClient } from '../http.js';
import type { Subject } from '../measure.js';
import { settle } from '../system.js';
import type { Page, Pages } from './pages.js';

/** The system as one person uses it: the subject of the measurement, and the headers that identify the person. */
export interface Caller {
  readonly subject: Subject;
  readonly headers: Readonly<Record<string, string>>;
}

/** A system with one workspace of pages in folders, its owner, and a member who has access only by grants. */
export interface RealWorld {
  readonly measured: Measured;
  /** A client with the owner's key. */
  readonly client: Client;
  readonly owner: Caller;
  /** A signed-in member of the Org without a role in the workspace. Each top-level folder is shared with them. */
  readonly member: Caller;
  readonly embeddings: WorldOptions['embeddings'];
  readonly workspaceId: string;
  readonly orgId: string;
  readonly folderIds: readonly string[];
  /** Pages with their ids. */
  readonly pages: readonly (Page & { readonly id: string })[];
  stop(): Promise<void>;
}

/** Number of concurrent creations while a workspace is filled. */
const WIDTH = 16;
/** Timeout in seconds for indexing and embedding all pages. */
const SETTLE_SECONDS = 3600;

export interface WorldOptions {
  /** Value of `COMMONPLACE_EMBEDDINGS`. `npm start` uses `local`. */
  readonly embeddings: 'local' | 'off';
  readonly mesh?: boolean;
  /** Further settings. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts a separate system and fills it. Resolves when everything is indexed. */
export async function createRealWorld(
  bench: Bench,
  name: string,
  { pages, folders }: Pages,
  { embeddings, mesh = false, settings = {} }: WorldOptions,
): Promise<RealWorld> {
  const measured = await bench.start(name, {
    mesh,
    settings: { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_EMBEDDINGS: embeddings, ...settings },
  });
  const { baseUrl, pids } = measured.system;
  let client: Client | undefined;
  const stop = async () => {
    client?.close();
    await measured.subject.stop();
  };
  try {
    const { workspaceId, orgId, ownerKey, member } = await createPeople(baseUrl);
    const callerOf = (about: string, headers: Caller['headers']): Caller => {
      return { subject: { ...measured.subject, name: about, apiKey: undefined }, headers };
    };
    const by = openClient(baseUrl, ownerKey, bench.pace.connections);
    client = by;
    const folderIds = await createTree(by, workspaceId, folders);
    for (const [path, id] of folderIds) {
      if (path.includes('/')) continue;
      const grant = { principal_type: 'user', principal_id: member.user.id, role: 'editor' };
      await by.ask('POST', `/resources/${id}/permissions`, grant);
    }
    const filled = await forEach(pages, WIDTH, async (page) => {
      const body = { type: 'document', name: page.name, parent_id: folderIds.get(page.folder), content: page.markdown };
      return { ...page, id: await createResource(by, body) };
    });
    bench.say(`${name}: created ${filled.length} pages; waiting until they are indexed`);
    await settle(pids, SETTLE_SECONDS);
    return {
      measured,
      client: by,
      owner: callerOf('owner', { authorization: `Bearer ${ownerKey}` }),
      member: callerOf('member', { cookie: member.session.cookie, 'x-csrf-token': member.session.csrf }),
      embeddings,
      workspaceId,
      orgId,
      folderIds: [...folderIds.values()],
      pages: filled,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Signs up the owner of an Org with a workspace in which members have no role by default, and a member of the Org. */
async function createPeople(baseUrl: string) {
  const system = { baseUrl };
  const owner = await signUp(system, 'Owner');
  const { data: org } = await owner.post<Made>('/orgs', { name: 'Company' });
  const place = { name: 'Handbook', org_id: org.id, default_role: null };
  const { data: workspace } = await owner.post<Made>('/workspaces', place);
  const email = newAddress('member');
  const { data: invited } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  const member = await signUp(system, 'Member', { email, invitation: tokenOf(invited.invite_url) });
  const { data: all } = await owner.get<{ scopes: string[] }>('/capabilities');
  const { key } = await newKey(owner, all.scopes, { org_id: org.id });
  return { orgId: org.id, workspaceId: workspace.id, ownerKey: key, member };
}

/** Creates folders, parents first. Returns their ids by path. */
async function createTree(client: Client, workspaceId: string, folders: readonly string[]) {
  const ids = new Map<string, string>();
  for (const path of folders) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const parent = ids.get(folderOf(path));
    const place = parent === undefined ? { workspace_id: workspaceId } : { parent_id: parent };
    ids.set(path, await createResource(client, { type: 'folder', name, ...place }));
  }
  return ids;
}
