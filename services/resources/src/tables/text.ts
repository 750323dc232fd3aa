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
  const breathe = createBreathe();
  const columns = head.columns.filter((column) => isStored(column) && column.type !== 'attachment');
  const nameOf = nameIn(head.people);
  const lines = [head.columns.map(({ name }) => name).join(' · ')];
  const entries = entriesOf(head);
  let chars = lines[0]?.length ?? 0;
  for (let chunk = 0; chunk < entries.length && chars < MAX_SEARCH_TEXT; chunk++) {
    for (const row of decodeRows(await states.text(tableId, entries, chunk, breathe))) {
      const cells = columns.map((column) => displayText(row.cells[column.slot] ?? null, column, nameOf));
      const line = cells.filter((text) => text !== '').join(' · ');
      lines.push(line);
      chars += line.length + 1;
      if (chars >= MAX_SEARCH_TEXT) break;
    }
  }
  return lines.join('\n').slice(0, MAX_SEARCH_TEXT);
}
