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

/** Returns the part of a sheet; an empty one if there is none. */
async function partOf(archive: Archive, { relation }: SheetPart): Promise<Buffer> {
  const relations = await archive.read('xl/_rels/workbook.xml.rels');
  let target: string | undefined;
  eachElement(relations ?? NO_PART, (_, { Id, Target }) => {
    if (Id === relation && Target !== undefined) target = Target.replace(/^\/?(?:xl\/)?/, 'xl/');
  });
  return (target === undefined ? undefined : await archive.read(target)) ?? NO_PART;
}

const NO_PART = Buffer.alloc(0);

/** Returns the rows of a sheet, counted from 0, in which a cell spans several columns. */
function mergedIn(part: Buffer): Set<number> {
  const merged = new Set<number>();
  const at = part.lastIndexOf('<mergeCells');
  if (at === -1) return merged;
  for (const [, from, row, to] of part
    .toString('latin1', at)
    .matchAll(/ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})\d{1,7}"/g))
    if (from !== to) merged.add(Number(row) - 1);
  return merged;
}

/**
 * Returns the places of cells with a formula and no value: programs that do not calculate, such as openpyxl, store none.
 * A formula whose value is an empty text has an empty value of the type `str`.
 */
function uncalculatedIn(part: Buffer): string[] {
  if (!part.includes('<f') && !part.includes(':f')) return [];
  const places: string[] = [];
  let cell = { place: '', isText: false };
  let hasFormula = false;
  let hasValue = false;
  let isInValue = false;
  const nameOf = (tag: string) => tag.slice(tag.indexOf(':') + 1);
  const parser = new Parser(
    bounded({
      onopentag(tag, { r: place = '', t: type }) {
        const name = nameOf(tag);
        if (name === 'c') {
          cell = { place, isText: type === 'str' };
          hasFormula = false;
          hasValue = false;
        } else if (name === 'f') hasFormula = true;
        else if (name === 'v') {
          isInValue = true;
          hasValue ||= cell.isText;
        }
      },
      ontext() {
        hasValue ||= isInValue;
      },
      onclosetag(tag) {
        const name = nameOf(tag);
        if (name === 'v') isInValue = false;
        if (name === 'c' && hasFormula && !hasValue) places.push(cell.place);
      },
    }),
    { xmlMode: true },
  );
  parser.end(decode(part));
  return places;
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
  if (task.sheet === undefined) return { sheets, rows: [], merged: [], uncalculated: [] };
  const own = parts.find(({ name }) => name === task.sheet);
  if (own === undefined) throw new MediaFailure('broken', 'the workbook has no sheet of that name');
  const data: unknown[][] = await readSheet(file, task.sheet, { trim: false });
  const part = await partOf(archive, own);
  const mergedAt = mergedIn(part);
  const { rows, places } = withoutEmpty(data);
  checkSize(rows, task);
  const merged = places.flatMap((place, at) => (mergedAt.has(place) ? [at] : []));
  return { sheets, rows: rows as SheetCell[][], merged, uncalculated: uncalculatedIn(part) };
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
