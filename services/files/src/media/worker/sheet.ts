import { Parser } from 'htmlparser2';
import { readSheet } from 'read-excel-file/node';
import { decode } from '../charset.js';
import { MediaFailure } from '../failure.js';
import type { Sheet, SheetCell, SheetTask } from '../protocol.js';
import { type Archive, openArchive } from './archive.js';
import { bytesOf } from './bytes.js';
import { bounded } from './nesting.js';
import { checkWorkbook } from './open-workbook.js';

interface SheetPart {
  readonly name: string;
  readonly relation: string;
}

/** Calls `visit` for each element of a part, with its name without a prefix. */
function eachElement(part: Buffer, visit: (name: string, attributes: Readonly<Record<string, string>>) => void): void {
  const parser = new Parser(bounded({ onopentag: (tag, attributes) => visit(tag.replace(/^.*:/, ''), attributes) }), {
    xmlMode: true,
  });
  parser.end(decode(part));
}

/** Returns the sheets of a workbook in order. */
async function sheetsOf(archive: Archive): Promise<SheetPart[]> {
  const part = await archive.read('xl/workbook.xml');
  if (part === undefined) throw new MediaFailure('broken', 'the file is not a workbook');
  const sheets: SheetPart[] = [];
  eachElement(part, (tag, attributes) => {
    if (tag === 'sheet' && attributes.name !== undefined)
      sheets.push({ name: attributes.name, relation: attributes['r:id'] ?? '' });
  });
  return sheets;
}

/** Returns the rows of a sheet, counted from 0, in which a cell spans several columns. */
async function mergedOf(archive: Archive, { relation }: SheetPart): Promise<Set<number>> {
  const merged = new Set<number>();
  const relations = await archive.read('xl/_rels/workbook.xml.rels');
  let target: string | undefined;
  eachElement(relations ?? Buffer.alloc(0), (_, { Id, Target }) => {
    if (Id === relation && Target !== undefined) target = Target.replace(/^\/?(?:xl\/)?/, 'xl/');
  });
  const part = target === undefined ? undefined : await archive.read(target);
  const at = part?.lastIndexOf('<mergeCells') ?? -1;
  if (part === undefined || at === -1) return merged;
  for (const [, from, row, to] of part
    .toString('latin1', at)
    .matchAll(/ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})\d{1,7}"/g))
    if (from !== to) merged.add(Number(row) - 1);
  return merged;
}

function checkSize(rows: readonly (readonly unknown[])[], { maxRows, maxColumns }: SheetTask): void {
  if (rows.length > maxRows) throw new MediaFailure('too_large', `the sheet has more than ${maxRows} rows`);
  const columns = rows[0]?.length ?? 0;
  if (columns > maxColumns) throw new MediaFailure('too_large', `the sheet has more than ${maxColumns} columns`);
}

/** Reads the cells of one sheet, or the names of all sheets. */
export async function readSheetTask(task: SheetTask): Promise<Sheet> {
  const file = await checkWorkbook(await bytesOf(task.source), task.limits);
  const archive = await openArchive(file, task.limits);
  const parts = await sheetsOf(archive);
  const sheets = parts.map(({ name }) => name);
  if (task.sheet === undefined) return { sheets, rows: [], merged: [] };
  const own = parts.find(({ name }) => name === task.sheet);
  if (own === undefined) throw new MediaFailure('broken', 'the workbook has no sheet of that name');
  const data: unknown[][] = await readSheet(file, task.sheet, { trim: false });
  const mergedAt = await mergedOf(archive, own);
  const { rows, places } = withoutEmpty(data);
  checkSize(rows, task);
  const merged = places.flatMap((place, at) => (mergedAt.has(place) ? [at] : []));
  return { sheets, rows: rows as SheetCell[][], merged };
}

const isEmpty = (cell: unknown): boolean => cell === null || cell === undefined || cell === '';

/** Removes empty rows and columns. `places` holds the original indexes of the remaining rows. */
function withoutEmpty(data: readonly (readonly unknown[])[]): { rows: unknown[][]; places: number[] } {
  const places = data.flatMap((row, at) => (row.every(isEmpty) ? [] : [at]));
  const used = new Set<number>();
  for (const place of places) {
    data[place]?.forEach((cell, at) => {
      if (!isEmpty(cell)) used.add(at);
    });
  }
  const columns = [...used].sort((a, b) => a - b);
  return { rows: places.map((place) => columns.map((at) => data[place]?.[at] ?? null)), places };
}
