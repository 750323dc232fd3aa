import { lazyLibrary } from '@commonplace/kit/library';
import type { CallContext } from '@commonplace/kit/rpc';
import { CellFormat, ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { Node } from '../stores/nodes.js';
import type { ContentKind, Diff, Payload, State } from './kind.js';

const library = lazyLibrary<typeof import('diff')>('diff', import.meta.url);

/** Milliseconds that a comparison may take: it holds up everything else of the process. */
const TIMEOUT_MS = 500;
/** Lines around a difference. */
const CONTEXT = 3;
const NOTHING = Buffer.alloc(0);
const NO_LINES = { added: 0, removed: 0, changed: 0, unified: '', columns: NOTHING, rows: NOTHING, truncated: false };

/** What differs between two states of a node's content: as its kind tells it, else line by line. */
export async function diffStates(
  kind: ContentKind,
  node: Node,
  from: State,
  to: State,
  context: CallContext,
): Promise<Diff> {
  if (kind.diff !== undefined) return kind.diff(node, from, to, context);
  const [before, after] = [
    linesOf(await read(kind, node, from, context)),
    linesOf(await read(kind, node, to, context)),
  ];
  return diffLines(before, after);
}

const QUERY = {
  format: ContentFormat.UNSPECIFIED,
  page: undefined,
  filter: '',
  sort: '',
  columns: [],
  cellFormat: CellFormat.UNSPECIFIED,
};

function read(kind: ContentKind, node: Node, state: State, context: CallContext): Promise<Payload> {
  return state === 'current' ? kind.read(node, QUERY, context) : kind.readKept(node, state.snapshotId, QUERY, context);
}

/** The text that a content is compared by. */
function linesOf({ content, source }: Payload): string {
  if (source !== undefined) return source;
  if (content === undefined || content.length === 0) return '';
  const value: unknown = JSON.parse(content.toString());
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

/** A unified diff of two texts; without one, and `truncated`, where the comparison would take too long. */
export function diffLines(before: string, after: string): Diff {
  if (before === after) return NO_LINES;
  const { FILE_HEADERS_ONLY, formatPatch, structuredPatch } = library();
  const options = { context: CONTEXT, timeout: TIMEOUT_MS };
  const patch = structuredPatch('snapshot', 'other', before, after, undefined, undefined, options);
  if (patch === undefined) return { ...NO_LINES, unified: undefined, truncated: true };
  const lines = patch.hunks.flatMap((hunk) => hunk.lines);
  const added = lines.filter((line) => line.startsWith('+')).length;
  const removed = lines.filter((line) => line.startsWith('-')).length;
  return { ...NO_LINES, added, removed, unified: formatPatch(patch, FILE_HEADERS_ONLY) };
}
