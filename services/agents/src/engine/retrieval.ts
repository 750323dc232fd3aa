import { AppError } from '@commonplace/kit/errors';
import type { CallOptions } from '@commonplace/kit/rpc';
import {
  CellFormat,
  type Content,
  ContentFormat,
  GetContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import type { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  SearchGrouping,
  type SearchItem,
  SearchMode,
  SearchRequest,
} from '@commonplace/proto/search/v1/search_service.js';
import {
  locate,
  matches,
  paragraphFor,
  SNIPPET_LENGTH,
  type Span,
  shorten,
  visible,
  widen,
} from '../domain/passage.js';
import { bestCell, lineOf, rowsOf, type TableRow } from '../domain/table-text.js';
import type { Parts } from '../parts.js';
import type { RunRecord } from '../stores/runs.js';
import { typeName } from '../wire/resource-type.js';
import { taintOf } from '../wire/taints.js';
import type { Acting } from './acting.js';
import type { FoundSource } from './sources.js';

/** Number of hits of one search. */
const HITS = 8;
/** Maximum characters of a passage, and of a resource that is read as a whole. */
const PASSAGE_LENGTH = 1_600;
export const READ_LENGTH = 24_000;
const MAX_QUERY_LENGTH = 1_000;
/** Maximum number of rows read of a table. */
const ROWS = 100;

type RetrievalParts = Pick<Parts, 'search' | 'content' | 'index'>;

/** Finds content that the run's person can read in the run's workspace or Org. */
export class Retrieval {
  constructor(
    private readonly parts: RetrievalParts,
    private readonly run: Pick<RunRecord, 'workspaceId' | 'scopes' | 'resourceIds' | 'pinnedIds'>,
    private readonly acting: Acting,
  ) {}

  /** Whether the credential that started the run may read content. */
  get isAllowed(): boolean {
    return this.run.scopes.includes('content:read');
  }

  async search(query: string): Promise<FoundSource[]> {
    const { workspaceId, scopes } = this.run;
    if (!this.isAllowed || !scopes.includes('search:read')) return [];
    const words = plainQuery(query);
    if (words === '') return [];
    const request = {
      ...NO_FILTER,
      query: words,
      mode: SearchMode.HYBRID,
      workspaceIds: workspaceId === undefined ? [] : [workspaceId],
      page: { limit: HITS, offset: 0, cursor: '' },
      groupBy: SearchGrouping.CHUNK,
    };
    const options = await this.acting(undefined, { scope: 'search:read' }).catch(ifUnscoped);
    if (options === undefined) return [];
    const { items } = await this.parts.search.search(request, options);
    const ids = [...new Set(items.flatMap(({ resource }) => resource?.id ?? []))];
    const known = await this.lookUp(ids);
    const contents = new Map(await Promise.all(ids.map(async (id) => [id, await this.contentOf(id)] as const)));
    const found = items.map((item) => passageOf(item, contents.get(item.resource?.id ?? ''), words));
    // Resources that are no longer readable are missing from `known`, and their passages are dropped.
    return found.flatMap((source) => {
      const resource = source && known.get(source.resourceId);
      return source === undefined || resource === undefined ? [] : [{ ...source, taint: taintOf(resource) }];
    });
  }

  private async lookUp(ids: readonly string[]): Promise<ReadonlyMap<string, AccessibleResource>> {
    if (ids.length === 0) return new Map();
    const options = await this.acting(undefined, { isNamed: ids.every((id) => isNamed(this.run, id)) });
    const { resources } = await this.parts.index.checkAccess({ ids: [...ids] }, options);
    return new Map(resources.map((resource) => [resource.id, resource]));
  }

  /** Returns a resource that the run can read; undefined otherwise. */
  private async readable(resourceId: string): Promise<AccessibleResource | undefined> {
    if (!this.isAllowed) return undefined;
    const resource = (await this.lookUp([resourceId])).get(resourceId);
    return resource !== undefined && this.isWithin(resource) ? resource : undefined;
  }

  /** Reads a resource from its beginning; undefined if the person cannot read it or it has no text. */
  async read(resourceId: string, question: string, maxLength = READ_LENGTH): Promise<FoundSource | undefined> {
    const resource = await this.readable(resourceId);
    if (resource === undefined) return undefined;
    const content = await this.contentOf(resourceId);
    if (content === undefined) return undefined;
    const text = textOf(content);
    if (text === undefined || text.trim() === '') return undefined;
    const whole = shorten(text, { from: 0, to: text.length }, maxLength);
    const about = { ...aboutOf(resource), score: undefined };
    if (content.columns.length > 0) {
      const row = rowSource(about, content, question, undefined);
      return row && { ...row, text: visible(text.slice(whole.from, whole.to)) };
    }
    const at = paragraphFor(text.slice(whole.from, whole.to), question);
    return sourceOf(about, content, text, at, whole, question);
  }

  /** Reads rows of a table with their ids; undefined if the run can read no such table or row. */
  async readRows(
    resourceId: string,
    { filter, limit, offset }: { readonly filter: string; readonly limit: number; readonly offset: number },
  ): Promise<FoundSource | undefined> {
    const resource = await this.readable(resourceId);
    if (resource === undefined || resource.type !== ResourceType.TABLE) return undefined;
    const request = { ...NO_CONTENT_FILTER, resourceId, filter, page: { limit, offset, cursor: '' } };
    const content = await this.parts.content.getContent(
      { ...request, format: ContentFormat.UNSPECIFIED },
      await this.optionsFor(resourceId),
    );
    const rows = rowsOf(content);
    const [first] = rows;
    if (first === undefined) return undefined;
    const source = rowSource({ ...aboutOf(resource), score: undefined }, content, '', first.id);
    const total = `${content.rowCount ?? rows.length} rows in all, these from ${offset}:`;
    const lines = rows.map((row) => `(row ${row.id}) ${lineOf(row)}`);
    const text = visible([total, ...lines].join('\n')).slice(0, READ_LENGTH);
    return source && { ...source, text };
  }

  private optionsFor(resourceId: string): Promise<CallOptions> {
    return this.acting(undefined, { isNamed: isNamed(this.run, resourceId) });
  }

  /** Returns whether a resource is in the run's workspace or was named by the person. */
  private isWithin({ id, workspaceId }: { readonly id: string; readonly workspaceId: string }): boolean {
    const { run } = this;
    return run.workspaceId === undefined || run.workspaceId === workspaceId || isNamed(run, id);
  }

  /** Returns the content of a resource; undefined if the person cannot read it or it has none. */
  private async contentOf(resourceId: string): Promise<Content | undefined> {
    const request = { ...NO_CONTENT_FILTER, resourceId, page: { limit: ROWS, offset: 0, cursor: '' } };
    try {
      return await this.parts.content.getContent(
        { ...request, format: ContentFormat.TEXT },
        await this.optionsFor(resourceId),
      );
    } catch (error) {
      if (!(error instanceof AppError) || !UNREADABLE.has(error.code)) throw error;
      if (error.reason !== 'unsupported_format') return undefined;
      const request2 = { ...request, format: ContentFormat.UNSPECIFIED };
      return await this.parts.content.getContent(request2, await this.optionsFor(resourceId)).catch(() => undefined);
    }
  }
}

/** Returns the fields of a source that describe its resource. */
const aboutOf = (resource: AccessibleResource) => ({
  resourceId: resource.id,
  name: resource.name,
  type: typeName(resource.type),
  taint: taintOf(resource),
});

/** Returns undefined if the error means that the run may not search; rethrows other errors. */
function ifUnscoped(error: unknown): undefined {
  if (!(error instanceof AppError) || error.reason !== 'insufficient_scope') throw error;
}

/** Returns whether the person has named a resource, or the agent's owner has pinned it. */
function isNamed({ resourceIds, pinnedIds = [] }: Pick<RunRecord, 'resourceIds' | 'pinnedIds'>, id: string): boolean {
  return resourceIds.includes(id) || pinnedIds.includes(id);
}

const UNREADABLE: ReadonlySet<AppError['code']> = new Set([
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'INVALID_ARGUMENT',
  'FAILED_PRECONDITION',
  'ABORTED',
]);

const NO_FILTER = SearchRequest.fromPartial({ highlight: true });

const NO_CONTENT_FILTER = GetContentRequest.fromPartial({ cellFormat: CellFormat.DISPLAY });

/** Returns the words of a question without search operators, as many as a query may have. */
function plainQuery(text: string): string {
  const words = visible(text.slice(0, 4 * MAX_QUERY_LENGTH))
    .replace(/["“”]/g, ' ')
    .replace(/(^|\s)-+/g, '$1')
    .replace(/\b(type|tag):/gi, '$1 ')
    .replace(/\s+/g, ' ')
    .trim();
  return [...words].slice(0, MAX_QUERY_LENGTH).join('').trim();
}

/**
 * Returns the passage of a hit from the current content, verbatim if possible; undefined if the content has no text.
 */
function passageOf(item: SearchItem, content: Content | undefined, question: string): FoundSource | undefined {
  const { resource, chunk, highlights, score } = item;
  if (resource === undefined || content === undefined) return undefined;
  const hit = { resourceId: resource.id, name: resource.name, type: typeName(resource.type), score };
  if (content.columns.length > 0) return rowSource(hit, content, question, highlights[0]?.rowId);
  const text = textOf(content);
  if (text === undefined || text.trim() === '') return undefined;
  const [first] = highlights.filter(({ field }) => field !== 'SEARCH_FIELD_NAME');
  const wanted = chunk?.text ?? first?.snippet ?? '';
  const found = locate(text, wanted.replace(/^…|…$/g, ''));
  const at = found ?? paragraphFor(text, question);
  const place = {
    blockId: chunk?.blockId ?? first?.blockId,
    page: chunk?.page ?? first?.page,
  };
  return { ...sourceOf(hit, content, text, at, widen(text, at, PASSAGE_LENGTH), question), ...(found && place) };
}

/** The fields of a source that do not depend on its passage. */
type About = Pick<FoundSource, 'resourceId' | 'name' | 'type' | 'score' | 'taint'>;

function sourceOf(about: About, content: Content, text: string, at: Span, around: Span, question: string): FoundSource {
  const { from, to } = shorten(text, at, SNIPPET_LENGTH);
  const snippet = text.slice(from, to).trim();
  const passage = visible(text.slice(around.from, around.to)).trim();
  return {
    ...about,
    contentVersion: content.version,
    snippet,
    ranges: matches(snippet, question),
    text: passage,
    isVerbatim: text.includes(passage),
  };
}

/** Returns a source that cites one cell of a table: in the given row, or in the row that fits the question best. */
function rowSource(
  about: About,
  content: Content,
  question: string,
  rowId: string | undefined,
): FoundSource | undefined {
  const rows: readonly TableRow[] = rowsOf(content);
  const found = bestCell(rowId === undefined ? rows : rows.filter(({ id }) => id === rowId), question);
  if (found === undefined) return undefined;
  const { from, to } = shorten(found.value, { from: 0, to: found.value.length }, SNIPPET_LENGTH);
  const snippet = found.value.slice(from, to).trim();
  return {
    ...about,
    contentVersion: content.version,
    rowId: found.row.id,
    snippet,
    ranges: matches(snippet, question),
    text: visible(lineOf(found.row)),
    isVerbatim: false,
  };
}

/** Returns the text of a content; for a table, one line per row. */
function textOf(content: Content): string | undefined {
  if (content.text !== undefined) return content.text;
  if (content.source !== undefined) return content.source;
  if (content.columns.length > 0) return rowsOf(content).map(lineOf).join('\n');
  const value: unknown = content.content.length > 0 ? JSON.parse(content.content.toString()) : undefined;
  return typeof value === 'string' ? value : undefined;
}
