/** What one call may bring of a table's rows: the tree's own limits, and bytes that fit into a message. */
const CALL_ROWS = 10_000;
const CALL_CELLS = 200_000;
const CALL_CHARACTERS = 3 * 1024 * 1024;

/** A table as a source brings it. */
export interface TableJson {
  readonly archive?: { readonly refs?: unknown };
  readonly columns?: unknown;
  readonly rows: readonly unknown[];
}

/** Rows of a table that follow in a call of their own. */
export interface Further {
  /** How many rows come before them. */
  readonly from: number;
  readonly contentJson: Buffer;
}

/** The JSON of a table with as many rows as fit into a call, and the others, each made when it is asked for. */
export interface SplitTable {
  readonly first: Buffer;
  readonly further: (() => Generator<Further>) | undefined;
}

/** Takes a table apart that is too large for one call. */
export function splitTable(table: TableJson): SplitTable {
  const { archive, columns, rows } = table;
  const { text, next } = piece(rows, 0);
  const first = withRows({ ...table, rows: [] }, text);
  if (next === rows.length) return { first, further: undefined };
  const beside = archive === undefined ? {} : { archive: { refs: archive.refs }, columns };
  function* further(): Generator<Further> {
    for (let from = next; from < rows.length; ) {
      const { text, next } = piece(rows, from);
      yield { from, contentJson: withRows({ ...beside, rows: [] }, text) };
      from = next;
    }
  }
  return { first, further };
}

/** The JSON of rows that one call takes, at least of one, and where the next of them begin. */
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

/** `rows` comes last, so that what marks an archive stays at the beginning. */
function withRows({ rows: _, ...others }: TableJson, text: string): Buffer {
  const head = JSON.stringify(others).slice(0, -1);
  return Buffer.from(`${head}${head === '{' ? '' : ','}"rows":${text}}`);
}
