import type { Caller } from '@commonplace/kit/auth';
import type { AppError } from '@commonplace/kit/errors';
import type { Reply } from '@commonplace/kit/rpc';
import {
  CellFormat,
  type Content,
  ContentMode,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { openWorld, type World } from '../stage.js';

export const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

export interface ShownColumn {
  id: string;
  name: string;
  type: string;
  options: { choices?: { id: string; name: string }[] };
  is_primary: boolean;
}

export interface ShownRow {
  id: string;
  cells: Record<string, unknown>;
  position: number;
  created_at: string;
  updated_at: string;
}

export interface Read {
  readonly version: number;
  readonly columns: ShownColumn[];
  readonly rows: ShownRow[];
  readonly rowCount: number;
  readonly primary: string;
  readonly page: NonNullable<Content['page']>;
  readonly changed: boolean | undefined;
  readonly snapshotId: string | undefined;
  readonly warnings: { code: string; message: string }[];
}

export interface ReadOptions {
  filter?: unknown;
  sort?: unknown;
  columns?: string[];
  limit?: number;
  offset?: number;
  cursor?: string;
  display?: boolean;
  snapshotId?: string;
}

export interface Brought {
  columns?: unknown;
  rows?: unknown;
  mode?: 'append' | 'upsert';
  typecast?: boolean;
  key?: string;
  gone?: string[];
  content?: unknown;
  snapshotId?: string;
}

/** Writes and reads tables as a person does, on the real service. */
export interface TableWorld {
  readonly world: World;
  readonly editor: Caller;
  create(columns?: unknown, rows?: unknown): Promise<string>;
  write(id: string, brought: Brought): Promise<Read>;
  read(id: string, asked?: ReadOptions): Promise<Read>;
  /** Returns the faults of a write that must be refused. */
  faults(id: string, brought: Brought): Promise<AppError['faults']>;
}

const MODES = { append: ContentMode.APPEND, upsert: ContentMode.UPSERT };

export async function openTables(): Promise<TableWorld> {
  const world = await openWorld();
  const editor = world.member(WorkspaceRole.EDITOR);

  function reading(content: Content, reply: Reply): Read {
    return {
      version: content.version,
      columns: JSON.parse(content.columns.toString()),
      rows: JSON.parse(content.rows.toString()),
      rowCount: content.rowCount ?? -1,
      primary: content.primaryColumnId ?? '',
      page: content.page as Read['page'],
      changed: content.changed,
      snapshotId: content.snapshotId,
      warnings: reply.warnings ?? [],
    };
  }

  const tables: TableWorld = {
    world,
    editor,
    async create(columns, rows) {
      const fields = {
        ...(columns === undefined ? {} : { columns: json(columns) }),
        ...(rows === undefined ? {} : { rows: json(rows) }),
      };
      const { id } = await world.create(editor, { type: ResourceType.TABLE, name: 'T', ...fields });
      return id;
    },
    async write(id, { columns, rows, mode, typecast, key, gone, content, snapshotId }) {
      const request = ReplaceContentRequest.fromPartial({
        resourceId: id,
        ...(columns === undefined ? {} : { columns: json(columns) }),
        ...(rows === undefined ? {} : { rows: json(rows) }),
        ...(content === undefined ? {} : { content: json(content) }),
        mode: mode === undefined ? ContentMode.UNSPECIFIED : MODES[mode],
        typecast: typecast ?? false,
        keyColumnId: key,
        deleteRowIds: gone ?? [],
        snapshotId,
      });
      const reply: Reply = {};
      return reading(await world.content.replaceContent(request, await world.stage.as(editor, {}, reply)), reply);
    },
    async read(id, { filter, sort, columns = [], limit = 100, offset = 0, cursor = '', display, snapshotId } = {}) {
      const request = GetContentRequest.fromPartial({
        resourceId: id,
        page: { limit, offset, cursor },
        filter: filter === undefined ? '' : typeof filter === 'string' ? filter : JSON.stringify(filter),
        sort: sort === undefined ? '' : typeof sort === 'string' ? sort : JSON.stringify(sort),
        columns,
        cellFormat: display === true ? CellFormat.DISPLAY : CellFormat.UNSPECIFIED,
        snapshotId,
      });
      return reading(await world.content.getContent(request, await world.stage.as(editor)), {});
    },
    async faults(id, brought) {
      const error = await tables.write(id, brought).then(
        () => undefined,
        (thrown: AppError) => thrown,
      );
      return error?.faults ?? [];
    },
  };
  return tables;
}
