import type { TextPlace } from '../documents/index.js';
import { displayText } from './cells.js';
import { isStored } from './column.js';
import { MAX_SEARCH_TEXT } from './limits.js';
import { entriesOf } from './records.js';
import { decodeRows } from './rows.js';
import { nameIn } from './shown.js';
import { createBreathe } from './slices.js';
import type { TableStates } from './state.js';
import type { Head } from './write.js';

/** A table as text, for search: the names of its columns, then its rows, as far as there is room. */
export async function tableText(tableId: string, head: Head, states: TableStates): Promise<string> {
  const lines: string[] = [];
  for await (const { text } of linesOf(tableId, head, states)) lines.push(text);
  return lines.join('\n').slice(0, MAX_SEARCH_TEXT);
}

/** The ids of the rows in which places of that text lie; undefined for the columns' names and for what has changed. */
export async function rowsAt(
  tableId: string,
  head: Head,
  states: TableStates,
  places: readonly TextPlace[],
): Promise<(string | undefined)[]> {
  const found = new Array<string | undefined>(places.length);
  const last = Math.max(...places.map(({ offset }) => offset));
  let start = 0;
  for await (const { text, rowId } of linesOf(tableId, head, states)) {
    const end = start + text.length;
    for (const [i, place] of places.entries()) {
      if (place.offset < start || place.offset > end) continue;
      // A place may go on in the next rows.
      const here = text.slice(place.offset - start, place.offset - start + place.text.length);
      if (here !== '' && place.text.startsWith(here)) found[i] = rowId;
    }
    start = end + 1;
    if (start > last) break;
  }
  return found;
}

interface Line {
  readonly text: string;
  /** Absent for the names of the columns. */
  readonly rowId?: string;
}

async function* linesOf(tableId: string, head: Head, states: TableStates): AsyncGenerator<Line> {
  const breathe = createBreathe();
  const columns = head.columns.filter((column) => isStored(column) && column.type !== 'attachment');
  const nameOf = nameIn(head.people);
  const names = head.columns.map(({ name }) => name).join(' · ');
  yield { text: names };
  const entries = entriesOf(head);
  let chars = names.length;
  for (let chunk = 0; chunk < entries.length && chars < MAX_SEARCH_TEXT; chunk++) {
    for (const row of decodeRows(await states.text(tableId, entries, chunk, breathe))) {
      const cells = columns.map((column) => displayText(row.cells[column.slot] ?? null, column, nameOf));
      const text = cells.filter((cell) => cell !== '').join(' · ');
      yield { text, rowId: row.id };
      chars += text.length + 1;
      if (chars >= MAX_SEARCH_TEXT) break;
    }
  }
}
