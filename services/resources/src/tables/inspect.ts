import { entriesOf, type PackedEntry, type StoredHead } from './records.js';
import { BETWEEN, shortHash } from './rows.js';

/** Reads heads and chunks of tables while another process may be writing them. */
export interface TableSource {
  count(): number;
  /** Returns the next heads after an id, ordered by id; without an id, the first ones. */
  above(id: string | undefined, limit: number): readonly StoredHead[];
  head(id: string): StoredHead | undefined;
  /** Returns the text of a chunk. */
  chunk(id: string): string | undefined;
}

/** The result of an operator's inspection of tables. */
export interface TableFacts {
  /** Number of tables and of their kept states. */
  readonly tables: number;
  readonly checked: number;
  /** One line for each damaged table. */
  readonly faults: readonly string[];
}

const PAGE = 20;
const MAX_FAULTS = 20;

/**
 * Compares the chunks of tables with the hashes and counts in their heads, until `until` in milliseconds of
 * `performance.now()`. It is needed because SQLite does not detect a flipped bit within a text. Changes nothing.
 */
export function inspectTables(source: TableSource, until: number): TableFacts {
  const tables = source.count();
  const faults: string[] = [];
  let checked = 0;
  let last: string | undefined;
  for (;;) {
    const page = source.above(last, PAGE);
    for (const head of page) {
      if (performance.now() > until) return { tables, checked, faults };
      const fault = faultOf(source, head);
      // A head that was rewritten in the meantime has other chunks.
      if (fault !== undefined && source.head(head.id)?.version === head.version) faults.push(`${head.id}: ${fault}`);
      checked++;
    }
    last = page.at(-1)?.id;
    if (page.length < PAGE || faults.length >= MAX_FAULTS) return { tables, checked, faults };
  }
}

function faultOf(source: TableSource, head: StoredHead): string | undefined {
  const [tableId = ''] = head.id.split('.');
  const listed = head.list === undefined ? [] : listOf(source.chunk(`${tableId}.${head.list}`));
  if (listed === undefined) return `its list of chunks ${head.list} is missing or unreadable`;
  const entries = entriesOf({ chunks: [...listed, ...head.chunks] });
  for (const { number, rows, hash } of entries) {
    const text = source.chunk(`${tableId}.${number}`);
    if (text === undefined) return `chunk ${number} with ${rows} rows is missing`;
    if (shortHash(text) !== hash) return `chunk ${number} with ${rows} rows differs from its hash`;
    const found = text.split(BETWEEN).length;
    if (found !== rows) return `chunk ${number} has ${found} rows and should have ${rows}`;
  }
  const rows = entries.reduce((sum, entry) => sum + entry.rows, 0);
  return rows === head.rowCount ? undefined : `it has ${rows} rows and should have ${head.rowCount}`;
}

function listOf(text: string | undefined): PackedEntry[] | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as PackedEntry[]);
  } catch {
    return undefined;
  }
}
