import type { TextPlace } from '../domain/text-place.js';
import { displayText } from './cells.js';
import { isStored } from './column.js';
import { MAX_SEARCH_TEXT } from './limits.js';
import { entriesOf } from './records.js';
import { decodeRows, type Row, shortHash } from './rows.js';
import { nameIn } from './shown.js';
import { createBreathe } from './slices.js';
import type { TableStates } from './state.js';
import type { Head } from './write.js';

/**
 * Returns a table as text for search: the names of its columns, then its rows, up to MAX_SEARCH_TEXT. Each chunk's text
 * is cached with the chunk, so that changed rows cost no more than their chunks.
 */
export async function tableText(tableId: string, head: Head, states: TableStates): Promise<string> {
  const breathe = createBreathe();
  const { names, by, lineOf } = readingOf(head);
  const render = async (rows: readonly Row[]): Promise<string> => {
    const lines: string[] = [];
    for (const row of rows) {
      lines.push(lineOf(row));
      await breathe();
    }
    return lines.join('\n');
  };
  const texts = [names];
  let chars = names.length;
  for (let chunk = 0; chunk < head.chunks.length && chars < MAX_SEARCH_TEXT; chunk++) {
    const text = await states.rendered(tableId, entriesOf(head, chunk, chunk + 1), by, render, breathe);
    texts.push(text);
    chars += text.length + 1;
  }
  return texts.join('\n').slice(0, MAX_SEARCH_TEXT);
}

/**
 * Returns the ids of the rows that hold the places in that text; undefined for column names and for text that has
 * changed.
 */
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
      // The text at a place may continue in the next rows.
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

/** Yields the same text line by line. */
async function* linesOf(tableId: string, head: Head, states: TableStates): AsyncGenerator<Line> {
  const breathe = createBreathe();
  const { names, lineOf } = readingOf(head);
  yield { text: names };
  const entries = entriesOf(head);
  let chars = names.length;
  for (let chunk = 0; chunk < entries.length && chars < MAX_SEARCH_TEXT; chunk++) {
    for (const row of decodeRows(await states.text(tableId, entries, chunk, breathe))) {
      const text = lineOf(row);
      yield { text, rowId: row.id };
      await breathe();
      chars += text.length + 1;
      if (chars >= MAX_SEARCH_TEXT) break;
    }
  }
}

/** Returns how a table's rows are rendered; the hash `by` identifies this rendering. */
function readingOf({ columns: all, people }: Head) {
  const columns = all.filter((column) => isStored(column) && column.type !== 'attachment');
  const nameOf = nameIn(people);
  return {
    names: all.map(({ name }) => name).join(' · '),
    by: shortHash(JSON.stringify([columns, people])),
    lineOf({ cells }: Row): string {
      const texts = columns.map((column) => displayText(cells[column.slot] ?? null, column, nameOf));
      return texts.filter((text) => text !== '').join(' · ');
    },
  };
}
