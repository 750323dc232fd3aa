/** Limits for the rows in one call: those of the tree, and as many characters as fit into a message. */
const CALL_ROWS = 10_000;
const CALL_CELLS = 200_000;
const CALL_CHARACTERS = 3 * 1024 * 1024;

/** Holds a table as a source provides it. */
interface TableJson extends ArchiveJson {
  readonly columns?: unknown;
  readonly people?: unknown;
  readonly rows: readonly unknown[];
}

/** Holds what an archive provides beside a table's columns and rows. */
interface ArchiveJson {
  readonly archive?: Partial<ArchivedParts>;
}

/** Holds rows of a table, or snapshots, that are sent in a further call. */
export interface Further {
  /** Number of rows that precede them. */
  readonly rowsFrom: number;
  readonly keptStates: boolean;
  readonly contentJson: Buffer;
}

type Pieces = () => Generator<Further>;

/** Holds the part of an item's JSON that fits into one call, and generates the rest on demand. */
interface SplitContent {
  readonly first: Buffer;
  readonly further: Pieces | undefined;
}

/**
 * Splits JSON that is too large for one call: snapshots follow the item that they belong to, and rows follow earlier
 * rows.
 */
export function splitJson(json: unknown): SplitContent {
  const { archive } = hasStates(json) ? json : {};
  const plain = archive === undefined ? json : { ...(json as object), archive: { ...archive, snapshots: [] } };
  const { first, further } = isTable(plain) ? splitTable(plain) : { first: bufferOf(plain), further: undefined };
  if (archive === undefined) return { first, further };
  return {
    first,
    *further() {
      if (further !== undefined) yield* further();
      yield* stateCalls(archive);
    },
  };
}

interface ArchivedParts {
  readonly refs?: unknown;
  readonly snapshots: readonly unknown[];
}

function hasStates(json: unknown): json is { readonly archive: ArchivedParts } {
  const { archive } = (json ?? {}) as ArchiveJson;
  return Array.isArray(archive?.snapshots) && archive.snapshots.length > 0;
}

export function isTable(json: unknown): json is TableJson {
  return typeof json === 'object' && json !== null && 'rows' in json && Array.isArray(json.rows);
}

function bufferOf(json: unknown): Buffer {
  return Buffer.from(JSON.stringify(json));
}

/** Yields snapshots in order, as many per call as fit, at least one. */
function* stateCalls({ refs, snapshots }: ArchivedParts): Generator<Further> {
  let texts: string[] = [];
  let characters = 0;
  const call = (): Further => {
    const archive = JSON.stringify({ refs }).slice(0, -1);
    const text = `{"archive":${archive}${archive === '{' ? '' : ','}"snapshots":[${texts.join(',')}]}}`;
    return { rowsFrom: 0, keptStates: true, contentJson: Buffer.from(text) };
  };
  for (const state of snapshots) {
    const text = JSON.stringify(state);
    if (texts.length > 0 && characters + text.length > CALL_CHARACTERS) {
      yield call();
      texts = [];
      characters = 0;
    }
    texts.push(text);
    characters += text.length;
  }
  yield call();
}

/** Splits a table that is too large for one call. */
function splitTable(table: TableJson): SplitContent {
  const { archive, columns, people, rows } = table;
  const { text, next } = piece(rows, 0);
  const first = withRows({ ...table, rows: [] }, text);
  if (next === rows.length) return { first, further: undefined };
  const beside = archive === undefined ? {} : { archive: { refs: archive.refs }, columns, people };
  function* further(): Generator<Further> {
    for (let from = next; from < rows.length; ) {
      const { text, next } = piece(rows, from);
      yield { rowsFrom: from, keptStates: false, contentJson: withRows({ ...beside, rows: [] }, text) };
      from = next;
    }
  }
  return { first, further };
}

/** Returns the JSON of the rows for one call, at least one row, and the index of the next row. */
function piece(rows: readonly unknown[], from: number): { readonly text: string; readonly next: number } {
  const texts: string[] = [];
  let cells = 0;
  let characters = 0;
  let next = from;
  while (next < rows.length && texts.length < CALL_ROWS) {
    const row = rows[next];
    const text = JSON.stringify(row);
    cells += cellsOf(row);
    characters += text.length;
    if (texts.length > 0 && (cells > CALL_CELLS || characters > CALL_CHARACTERS)) break;
    texts.push(text);
    next++;
  }
  return { text: `[${texts.join(',')}]`, next };
}

function cellsOf(row: unknown): number {
  const cells = typeof row === 'object' && row !== null && 'cells' in row ? row.cells : row;
  return typeof cells === 'object' && cells !== null ? Object.keys(cells).length : 0;
}

/** Writes `rows` last, so that the key that marks an archive stays at the beginning. */
function withRows({ rows: _, ...others }: TableJson, text: string): Buffer {
  const head = JSON.stringify(others).slice(0, -1);
  return Buffer.from(`${head}${head === '{' ? '' : ','}"rows":${text}}`);
}
