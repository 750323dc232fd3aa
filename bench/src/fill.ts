import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Client } from './http.js';

export interface Made {
  readonly id: string;
}

/** Creates a workspace, in an Org if `orgId` is given. Returns its id. */
export async function createWorkspace(client: Client, name: string, orgId?: string): Promise<string> {
  return (await client.ask<Made>('POST', '/workspaces', { name, org_id: orgId })).id;
}

export async function createResource(client: Client, body: object): Promise<string> {
  return (await client.ask<Made>('POST', '/resources', body)).id;
}

/** Creates folders at the top level of a workspace. Returns their ids. */
export function createFolders(client: Client, workspaceId: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `Folder ${i + 1}`);
  return forEach(names, 8, (name) => createResource(client, { type: 'folder', name, workspace_id: workspaceId }));
}

/** Number of concurrent creations while a workspace is filled. */
const WIDTH = 64;

/**
 * Fills a new workspace with documents in folders, `count` resources in total. Returns the workspace's id and the
 * seconds that it took.
 */
export async function fillWorkspace(client: Client, name: string, count: number, folders: number) {
  const workspaceId = await createWorkspace(client, name);
  const started = performance.now();
  const parents = await createFolders(client, workspaceId, folders);
  const numbers = Array.from({ length: count - folders }, (_, i) => i);
  await forEach(numbers, WIDTH, (i) =>
    createResource(client, {
      type: 'document',
      name: `${sentence(i, 4)} ${i}`,
      parent_id: parents[i % folders],
      content: sentence(i, 40),
    }),
  );
  return { workspaceId, seconds: (performance.now() - started) / 1000 };
}

const WORDS = (
  'account agenda answer archive budget calendar change claim client contract customer decision delivery design ' +
  'draft estimate expense feedback figure forecast goal guide holiday incident interview invoice issue launch letter ' +
  'meeting memo minutes notice office onboarding order outline partner payment plan policy price process product ' +
  'project proposal quality question record release report request review risk roadmap salary schedule security ' +
  'service summary supplier support survey target task team template training travel update vendor vision workshop'
).split(' ');

/** Returns words that resemble a text. The same number gives the same words. */
export function sentence(number: number, words: number): string {
  let seed = (number + 1) * 2_654_435_761;
  const next = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return WORDS[(seed >>> 8) % WORDS.length];
  };
  return Array.from({ length: words }, next).join(' ');
}
