import readWorkbookFile, { type CellValue } from 'read-excel-file/node';
import { createCollector } from './collector.js';
import { checkWorkbook } from './open-workbook.js';
import type { ReadText } from './read-text.js';

/** Formats a cell as text; a date without a time as a day. */
function cellText(cell: CellValue | null): string {
  if (cell === null) return '';
  if (typeof cell !== 'object' && typeof cell !== 'function') return String(cell);
  const date: unknown = cell;
  if (!(date instanceof Date) || Number.isNaN(date.getTime())) return '';
  const time = date.toISOString();
  return time.endsWith('T00:00:00.000Z') ? time.slice(0, 10) : time.slice(0, 19).replace('T', ' ');
}

/** Extracts the text of a workbook: the name of each sheet, then its rows with tabs between cells. */
export const readWorkbook: ReadText = async (file, limits) => {
  const sheets = await readWorkbookFile(await checkWorkbook(file, limits));
  const out = createCollector(limits.maxChars);
  for (const { sheet, data } of sheets) {
    out.add(`${sheet}\n`);
    for (const row of data) {
      if (out.isFull) break;
      out.add(`${row.map(cellText).join('\t').trimEnd()}\n`);
    }
    out.endPage();
  }
  return { ...out.end(), pages: sheets.length };
};
