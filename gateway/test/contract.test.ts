import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { createRoutes } from '../src/routes.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const BASE = '/api/v1';

interface Endpoint {
  readonly method: string;
  /** Path without `/api/v1`. */
  readonly path: string;
  readonly scope: string;
}

/** Returns the rows of a table of tab-separated values whose first line names the columns. */
function readTable(file: string): Record<string, string>[] {
  const [head = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  const columns = head.split('\t');
  return lines.map((line) => {
    const cells = line.split('\t');
    return Object.fromEntries(columns.map((column, i) => [column, cells[i] ?? '']));
  });
}

const nameOf = ({ method, path }: { method?: string; path?: string }) => `${method} ${path}`;
const rowOf = (endpoint: Endpoint) => `${nameOf(endpoint)} ${endpoint.scope}`;

const routes = createRoutes();
const built: Endpoint[] = routes.map(({ method, path, scope }) => ({ method, path: path.slice(BASE.length), scope }));

describe('the route table', () => {
  test('contains only paths below /api/v1', () => {
    expect(routes.filter(({ path }) => !path.startsWith(`${BASE}/`))).toEqual([]);
  });

  test('equals proto/endpoints.tsv', () => {
    const listed = readTable(join(root, 'proto/endpoints.tsv')) as unknown as Endpoint[];
    expect(built.map(rowOf)).toEqual(listed.map(rowOf));
  });
});

// Scopes that the specification's table does not show (api: 2.4).
const NOT_SHOWN: Readonly<Record<string, string>> = {
  'PATCH /workspaces/{workspace_id}/members/{member_id}': 'member:write',
  'DELETE /workspaces/{workspace_id}/members/{member_id}': 'member:write',
  'DELETE /workspaces/{workspace_id}/connections/{connection_id}': 'connection:write',
  'DELETE /workspaces/{workspace_id}/connectors/{connector_id}': 'connector:write',
  'PATCH /resources/{resource_id}/comments/{comment_id}': 'comment:write',
  'DELETE /resources/{resource_id}/comments/{comment_id}': 'comment:write',
  'GET /resources/{resource_id}/snapshots/{snapshot_id}': 'snapshot:read',
  'DELETE /resources/{resource_id}/snapshots/{snapshot_id}': 'snapshot:write',
  'GET /resources/{resource_id}/access-requests': 'access_request:read',
  'POST /resources/{resource_id}/access-requests': 'access_request:write',
  'DELETE /workspace-templates/{template_id}': 'workspace_template:write',
};
// The only endpoints that a second scope opens as well, because a key with the specification's scopes alone can't have
// theirs.
const ALSO: Readonly<Record<string, string[]>> = {
  'GET /resources/{resource_id}/access-requests': ['access_request:write'],
  'DELETE /workspaces/{workspace_id}/connections/{connection_id}': ['connector:write'],
};

const data = process.env.COMMONPLACE_TEST_DATA;
const specification = [
  ...(data === undefined ? [] : [join(dirname(data), 'spec/endpoints.tsv')]),
  join(root, '../shared/spec/endpoints.tsv'),
].find((file) => existsSync(file));
if (specification === undefined) console.log("The specification's table is not here: its comparison is skipped.");

(specification === undefined ? describe.skip : describe)("the specification's table", () => {
  const rows = specification === undefined ? [] : (readTable(specification) as unknown as Endpoint[]);
  const specified = new Map(
    rows.map((row) => [nameOf(row), row.scope === 'not shown' ? (NOT_SHOWN[nameOf(row)] ?? '?') : row.scope]),
  );

  test('has 160 rows, each with a scope', () => {
    expect(specified.size).toBe(160);
    expect([...specified.values()]).not.toContain('?');
  });

  test('has every implemented endpoint, with the same scope; the others are in preview', () => {
    const same = built.filter((each) => specified.has(nameOf(each)));
    expect(same.map(rowOf)).toEqual(same.map((each) => rowOf({ ...each, scope: specified.get(nameOf(each)) ?? '' })));
    const added = routes.filter(({ method, path }) => !specified.has(`${method} ${path.slice(BASE.length)}`));
    expect(added.filter(({ preview }) => !preview).map(nameOf)).toEqual([]);
  });

  test('is implemented completely', () => {
    const names = built.map(nameOf);
    expect(names.filter((name) => specified.has(name)).sort()).toEqual([...specified.keys()].sort());
  });

  test('has no endpoint with other scopes, except for two', () => {
    for (const { method, path, also } of routes) {
      expect([path, also]).toEqual([path, ALSO[`${method} ${path.slice(BASE.length)}`] ?? []]);
    }
  });
});
