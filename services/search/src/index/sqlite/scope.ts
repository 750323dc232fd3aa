import type { Param } from '@commonplace/adapters/sqlite/file';
import type { SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { Narrowing } from '../../domain/narrowing.js';
import type { ChangeLog } from './change-log.js';
import type { IndexFile, Tenant } from './file.js';
import { itemsJson, itemText, pairItem } from './lists.js';
import { TENANT_ROWS } from './schema.js';

/** Describes which entries a search may return, as conditions on `entries e`. */
export interface Scope {
  readonly tenant: Tenant;
  readonly firstRow: number;
  readonly lastRow: number;
  /** Number of rows that the tenant has ever had. */
  readonly rows: number;
  readonly changes: ChangeLog;
  /** Workspaces that are searched. */
  readonly workspaceIds: readonly string[];
  /** Empty when every entry of the tenant is admitted, so that the table of entries need not be read. */
  readonly conditions: readonly string[];
  readonly params: readonly Param[];
  /** Whether the entries are named by id, so that they are few. */
  readonly named: boolean;
}

/** Returns the scope of a search, or undefined when the index contains none of the filter's workspaces. */
export function scopeOf(file: IndexFile, filter: SearchFilter, narrowing: Narrowing): Scope | undefined {
  const known = filter.workspaceIds.map((id) => file.workspaces.get(id)).find((workspace) => workspace !== undefined);
  if (known === undefined) return undefined;
  const { tenant } = known;
  const scope = {
    tenant,
    firstRow: tenant.number * TENANT_ROWS,
    lastRow: tenant.number * TENANT_ROWS + TENANT_ROWS - 1,
    rows: tenant.next,
    changes: tenant.changes,
    workspaceIds: filter.workspaceIds,
    conditions: [] as string[],
    params: [] as Param[],
    named: narrowing.ids !== undefined,
  };
  const add = (condition: string, ...params: Param[]): void => {
    scope.conditions.push(condition);
    scope.params.push(...params);
  };
  if (!seesAll(tenant, filter)) addFilter(filter, add);
  if (filter.lost.length > 0) addLost(filter, add);
  addNarrowing(narrowing, add);
  return scope;
}

type Add = (condition: string, ...params: Param[]) => void;

/** Returns whether all workspaces of the tenant that have entries are searched and open to the caller. */
function seesAll(tenant: Tenant, filter: SearchFilter): boolean {
  const open = new Set(filter.openWorkspaceIds);
  const searched = new Set(filter.workspaceIds);
  for (const id of tenant.workspaceIds) if (!(open.has(id) && searched.has(id))) return false;
  return true;
}

const AMONG = 'IN (SELECT value FROM json_each(?))';

function addFilter(filter: SearchFilter, add: Add): void {
  add(`e.workspace_id ${AMONG}`, JSON.stringify(filter.workspaceIds));
  const granted = filter.granted.map(({ resourceId, boundaryId }) => [itemText(resourceId), boundaryId]);
  const ways: [string, string][] = [
    [`e.workspace_id ${AMONG}`, JSON.stringify(filter.openWorkspaceIds)],
    [`e.boundary_id ${AMONG}`, JSON.stringify(filter.boundaryIds)],
    [
      "e.principals <> '' AND EXISTS (SELECT 1 FROM json_each(?) p WHERE instr(e.principals, p.value) > 0)",
      itemsJson(filter.principals),
    ],
    [`e.id ${AMONG}`, JSON.stringify(filter.granted.map(({ resourceId }) => resourceId))],
    [
      `EXISTS (SELECT 1 FROM json_each(?) g
        WHERE e.boundary_id = g.value ->> 1 AND instr(e.ancestors, g.value ->> 0) > 0)`,
      JSON.stringify(granted),
    ],
  ];
  const open = ways.filter(([, values]) => values !== '[]');
  if (open.length === 0) add('0');
  else add(`(${open.map(([condition]) => `(${condition})`).join(' OR ')})`, ...open.map(([, values]) => values));
}

/** Excludes lost subtrees: by the ids of their heads, and of their descendants' ancestors within their boundaries. */
function addLost({ lost }: SearchFilter, add: Add): void {
  const excluded = lost.map(({ resourceId, boundaryId, keptIds }) => [
    resourceId,
    itemText(resourceId),
    boundaryId,
    keptIds.map((id) => [id, itemText(id)]),
  ]);
  add(
    `NOT EXISTS (SELECT 1 FROM json_each(?) l
      WHERE (e.id = l.value ->> 0 OR (e.boundary_id = l.value ->> 2 AND instr(e.ancestors, l.value ->> 1) > 0))
        AND NOT EXISTS (SELECT 1 FROM json_each(l.value, '$[3]') k
          WHERE e.id = k.value ->> 0 OR instr(e.ancestors, k.value ->> 1) > 0))`,
    JSON.stringify(excluded),
  );
}

function addNarrowing(narrowing: Narrowing, add: Add): void {
  const { types, excludedTypes, parentId, createdBy, updatedAfter, updatedBefore, ids } = narrowing;
  if (ids !== undefined) add(`e.id ${AMONG}`, JSON.stringify(ids));
  if (types !== undefined) add(`e.type ${AMONG}`, JSON.stringify(types));
  if (excludedTypes?.length) add(`e.type NOT ${AMONG}`, JSON.stringify(excludedTypes));
  if (parentId !== undefined) add('instr(e.ancestors, ?) > 0', itemText(parentId));
  if (createdBy !== undefined) add(`e.created_by ${AMONG}`, JSON.stringify(createdBy));
  if (updatedAfter !== undefined) add('e.updated_at > ?', updatedAfter);
  if (updatedBefore !== undefined) add('e.updated_at < ?', updatedBefore);
  for (const [name, value] of Object.entries(narrowing.metadata ?? {})) {
    add('instr(e.metadata, ?) > 0', itemText(pairItem(name, value)));
  }
  for (const tags of narrowing.tags ?? []) add(HAS_TAG, itemsJson(tags));
  if (narrowing.excludedTags?.length) add(`NOT ${HAS_TAG}`, itemsJson(narrowing.excludedTags));
}

const HAS_TAG = 'EXISTS (SELECT 1 FROM json_each(?) t WHERE instr(e.tags, t.value) > 0)';
