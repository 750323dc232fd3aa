import { isLitter, nameOf, stemOf } from '../common/paths.js';
import { cleanName } from '../common/text.js';
import {
  type Bundle,
  ImportFault,
  type ItemContent,
  type OpenSource,
  type SourceItem,
  type SourceOptions,
} from '../port.js';
import { readSheetTable, sheetNames } from './sheet.js';

/** Returns a workbook's items: its only sheet as a table, or a folder with a table for each. */
export async function workbookItems(bundle: Bundle, path: string, name: string): Promise<SourceItem[]> {
  const sheets = await sheetNames(bundle, path);
  if (sheets.length === 0) throw new ImportFault('no_tables', `${path} has no sheets.`);
  if (sheets.length === 1) return [{ path, kind: 'table', name }];
  const tables = sheets.map(
    (sheet): SourceItem => ({ path: `${path}#${sheet}`, parent: path, kind: 'table', name: cleanName(sheet) }),
  );
  return [{ path, kind: 'folder', name }, ...tables];
}

/** Reads an item of `workbookItems`. */
export async function readWorkbookItem(
  bundle: Bundle,
  book: string,
  item: SourceItem,
  options: SourceOptions,
): Promise<ItemContent> {
  if (item.kind !== 'table') return {};
  const sheet = item.path === book ? (await sheetNames(bundle, book))[0] : item.path.slice(book.length + 1);
  if (sheet === undefined) throw new ImportFault('no_tables', `${book} has no sheets.`);
  const { table, description, warnings } = await readSheetTable(bundle, book, sheet, options.csv);
  return { json: table, description, warnings };
}

/** Opens a workbook: a table for each sheet, in a folder if there are several. Formulas become their values. */
export const openXlsxSource: OpenSource = async (bundle, options) => {
  const entries = bundle.entries.filter(({ path }) => !isLitter(path));
  const entry = entries.find(({ path }) => /\.xl[st][xm]$/i.test(path)) ?? entries[0];
  if (entry === undefined) throw new ImportFault('no_tables', 'The source contains no workbook.');
  const { path } = entry;
  const items = await workbookItems(bundle, path, cleanName(stemOf(options.fileName ?? nameOf(path))));
  return {
    items,
    skipped: entries
      .filter((other) => other !== entry)
      .map((other) => ({ path: other.path, code: 'not_imported', message: 'An import of a workbook takes one file.' })),
    read: (item) => readWorkbookItem(bundle, path, item, options),
    resolve: () => ({ outside: true }),
    notes: [
      'Formulas are imported as the values that they had; charts, images, and the formats, links and comments of cells are not in a table.',
    ],
  };
};
