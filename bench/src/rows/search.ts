import { depthOf, folderOf, type Handbook, nameOf, readHandbook } from '@commonplace/acceptance/dist/src/handbook.js';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Bench } from '../bench.js';
import { compareBeside } from '../beside.js';
import { createResource, createWorkspace } from '../fill.js';
import { type Client, JSON_BODY } from '../http.js';
import { type Row, ratioOf, Skipped } from '../row.js';
import { startBareKoa } from '../subjects/limit.js';
import { settle } from '../system.js';

/**
 * Queries as people send them to a handbook: one word, several, a name, a phrase, a misspelt word, an excluded one, a
 * prefix.
 */
const QUERIES = [
  'vacation',
  'expenses',
  'onboarding',
  'security',
  'engineering',
  'kubernetes',
  'okr',
  'parental leave',
  'code review',
  'incident response',
  'customer support',
  'release process',
  'career development',
  'remote work',
  'pull request',
  'stock options',
  'how to request time off',
  'set up a new laptop',
  'who approves a contract',
  'travel and conference budget',
  'interview feedback for candidates',
  'on-call rotation for engineers',
  '"all remote"',
  '"product manager"',
  '"time zone"',
  'complience',
  'recruting proces',
  'salary -equity',
  'benefits -dental',
  'sales enablem',
] as const;

const SETTLE_SECONDS = 120;

interface Found {
  readonly items: readonly { readonly highlights: readonly unknown[] }[];
}

/** Measures a keyword search over a company's handbook: ten hits with highlights. */
export async function measureSearch(bench: Bench): Promise<Row> {
  const handbook = readHandbook();
  if (handbook === undefined) throw new Skipped('the data for tests is not there: set COMMONPLACE_TEST_DATA');
  const { subject, client, system } = await bench.start('handbook');
  try {
    const workspaceId = await createWorkspace(client, 'Handbook');
    await bring(client, handbook, workspaceId);
    await settle(system.pids, SETTLE_SECONDS);
    const bodies = QUERIES.map((query) => ({ query, mode: 'keyword', limit: 10, workspace_ids: [workspaceId] }));
    const answers = await forEach(bodies, 1, (body) => client.send('POST', '/search', body));
    const hits = answers.map(({ status, text }) => {
      if (status !== 200) throw new Error(`POST /search answers ${status}: ${text.slice(0, 500)}`);
      return (JSON.parse(text) as { data: Found }).data.items;
    });
    const path = '/api/v1/search';
    const requests = bodies.map(
      (body) => ({ method: 'POST', path, body: JSON.stringify(body), headers: JSON_BODY }) as const,
    );
    const limit = { method: 'POST', path, status: 200, answers: answers.map(({ text }) => text) } as const;
    const figures = await compareBeside(bench, [{ subject, requests }], () => startBareKoa(limit));
    const found = hits.flat();
    const notes = [
      `${handbook.pages.size} pages, ${QUERIES.length} queries, ${found.length} hits of ${QUERIES.length * 10}, ` +
        `${found.filter(({ highlights }) => highlights.length > 0).length} with highlights`,
    ];
    return { figures, checks: [ratioOf(figures, 0.05)], notes };
  } finally {
    await subject.stop();
  }
}

/** Creates the handbook's folders and pages in a workspace, parents first. */
async function bring(client: Client, { folders, pages }: Handbook, workspaceId: string): Promise<void> {
  const ids = new Map<string, string>();
  const add = async (type: 'folder' | 'document', path: string, content?: string) => {
    const about = { type, name: nameOf(path), workspace_id: workspaceId, parent_id: ids.get(folderOf(path)) };
    ids.set(path, await createResource(client, content === undefined ? about : { ...about, content }));
  };
  for (let depth = 0; folders.some((path) => depthOf(path) >= depth); depth++) {
    await forEach(
      folders.filter((path) => depthOf(path) === depth),
      8,
      (path) => add('folder', path),
    );
  }
  await forEach([...pages], 8, ([path, content]) => add('document', path, content));
}
