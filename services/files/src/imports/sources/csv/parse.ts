import { lazyLibrary } from '@commonplace/kit/library';
import type Papa from 'papaparse';
import { charsetOf } from '../../../media/charset.js';
import { wellFormed } from '../common/text.js';
import { ImportFault, type SourceOptions } from '../port.js';
import { buildTable, checkSize, MAX_CELLS, MAX_COLUMNS, MAX_ROWS, type Table } from './table.js';
import { shapeOf } from './types.js';

const library = lazyLibrary<typeof Papa>('papaparse', import.meta.url);

/** Bytes beyond which a file is refused, because it is read into memory as a whole. */
export const MAX_CSV_BYTES = 64 * 1024 * 1024;
const DELIMITERS = [',', ';', '\t', '|'];

type CsvOptions = NonNullable<SourceOptions['csv']>;

interface DecodedText {
  readonly text: string;
  readonly warnings: readonly string[];
}

/** Decodes a file. A charset that is neither given nor marked in the bytes is a guess, and is named in a warning. */
function textOfFile(bytes: Buffer, encoding: string | undefined): DecodedText {
  const charset = encoding ?? charsetOf(bytes);
  const warnings =
    encoding !== undefined || charset.startsWith('utf-')
      ? []
      : [`The file is not UTF-8 and was read as ${charset}; the option "encoding" can name another encoding.`];
  try {
    return { text: new TextDecoder(charset).decode(bytes), warnings };
  } catch (cause) {
    throw new ImportFault('unknown_encoding', `The encoding "${charset.slice(0, 40)}" is not known.`, false, {
      cause,
    });
  }
}

/**
 * Returns the text with `\n` at the end of all lines if some end with it and others with `\r\n`, as in files that were
 * joined or edited: the parser expects the same end everywhere.
 */
function withEqualEnds(text: string): string {
  return text.includes('\r\n') && /(?:^|[^\r])\n/.test(text) ? text.replaceAll('\r\n', '\n') : text;
}

interface ParsedRows {
  readonly rows: string[][];
  readonly delimiter: string;
  readonly warnings: string[];
}

/**
 * Delimiters on one line beyond which a file is refused: that is not a table, and each would become a string at once.
 */
const MAX_LINE_DELIMITERS = 20_000;

/**
 * Refuses text that would be too expensive to split, judged by the number of delimiters, which includes those within
 * values.
 */
function refuseHuge(text: string, delimiter: string, path: string): void {
  const sign = delimiter.charCodeAt(0);
  let onLine = 0;
  let all = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === sign) {
      onLine += 1;
      all += 1;
      if (onLine > MAX_LINE_DELIMITERS) checkSize(0, onLine, path);
      if (all > 2 * MAX_CELLS) checkSize(MAX_ROWS, MAX_COLUMNS, path);
    } else if (code === 10 || code === 13) onLine = 0;
  }
}

/** Characters of a file that its delimiter is guessed from. */
const SAMPLE = 64 * 1024;

function guessDelimiter(text: string): string {
  const sample = text.slice(0, SAMPLE);
  const end = text.length > SAMPLE ? sample.lastIndexOf('\n') : -1;
  const whole = end === -1 ? sample : sample.slice(0, end);
  return library().parse(whole, { delimitersToGuess: DELIMITERS, preview: 50, skipEmptyLines: true }).meta.delimiter;
}

/** Maximum number of lines that are read, including empty ones and lines within values. */
const MAX_LINES = 2 * MAX_ROWS;

/** Values with an unclosed quotation mark that are repaired; the rest of the file is then read without quotation. */
const MAX_UNCLOSED = 10;

/** What no text contains: NULs are removed before. */
const NO_QUOTE = '\0';

interface ParsedText {
  readonly data: string[][];
  /** Numbers of the rows, from 1, that have a value with an unclosed quotation mark. */
  readonly unclosed: number[];
  /** Count of quotation marks within values that are not doubled. */
  readonly misplaced: number;
}

/** Returns the text with the value that begins at `at`, up to the next delimiter or line end, in quotation marks. */
function quoteValue(text: string, at: number, delimiter: string): string {
  const length = text.slice(at).search(/[\r\n]/);
  const line = length === -1 ? text.slice(at) : text.slice(at, at + length);
  const [value = ''] = line.split(delimiter, 1);
  return `${text.slice(0, at)}"${value.replaceAll('"', '""')}"${text.slice(at + value.length)}`;
}

/** Returns whether a row with misplaced quotation marks has a value in which a later line begins a quoted value. */
function swallowsLines(row: readonly string[], delimiter: string): boolean {
  return row.some((value) => {
    const later = value.slice(value.search(/[\r\n]/) + 1);
    return later !== value && (later.startsWith('"') || later.includes(`${delimiter}"`) || later.includes('\n"'));
  });
}

/**
 * Parses rows by RFC 4180. A quotation mark that nothing closes before the next quoted value is text: it would make one
 * value of the lines up to there, or of the rest of the file.
 */
function parseText(text: string, delimiter: string, path: string): ParsedText {
  const rows: string[][] = [];
  const unclosed: number[] = [];
  let misplaced = 0;
  let rest = text;
  for (;;) {
    const quoteChar = unclosed.length < MAX_UNCLOSED ? '"' : NO_QUOTE;
    const { data, errors, meta } = library().parse<string[]>(rest, { delimiter, quoteChar, preview: MAX_LINES });
    if (meta.truncated || rows.length + data.length > MAX_LINES) checkSize(MAX_LINES, 0, path);
    const open = errors.find(
      ({ code, row = 0 }) =>
        code === 'MissingQuotes' || (code === 'InvalidQuotes' && swallowsLines(data[row] ?? [], delimiter)),
    );
    const whole = open?.row ?? data.length;
    for (const row of data.slice(0, whole)) rows.push(row);
    misplaced += errors.filter(({ code, row = 0 }) => code === 'InvalidQuotes' && row < whole).length;
    if (open?.index === undefined) return { data: rows, unclosed, misplaced };
    unclosed.push(rows.length + 1);
    const from = whole === 0 ? 0 : library().parse(rest, { delimiter, preview: whole }).meta.cursor;
    rest = rest.slice(from);
    if (unclosed.length < MAX_UNCLOSED) rest = quoteValue(rest, open.index - 1 - from, delimiter);
  }
}

/** Parses rows, tolerating syntax errors. */
function parseRows(text: string, given: string | undefined, path: string): ParsedRows {
  const delimiter = given ?? guessDelimiter(text);
  refuseHuge(text, delimiter, path);
  const { data, unclosed, misplaced } = parseText(text, delimiter, path);
  const rows = data.filter((row) => row.some((value) => value !== ''));
  checkSize(rows.length - 1, 0, path);
  const warnings: string[] = [];
  if (misplaced > 0) warnings.push(`${misplaced} quotation marks stand within a value; the text is kept as it is.`);
  if (unclosed.length > 0) warnings.push(unclosedWarning(unclosed));
  return { rows, delimiter, warnings };
}

function unclosedWarning(rows: readonly number[]): string {
  const rest = rows.length < MAX_UNCLOSED ? '' : '; all that follow are read as text';
  return `${rows.length} values begin with a quotation mark that is not closed, and are kept as they are: rows ${rows.join(', ')}${rest}.`;
}

/**
 * Returns whether the first row names the columns. It does not if any of its values has the same type as the column
 * below it.
 */
function hasNames(rows: readonly (readonly string[])[], decimalComma: boolean): boolean {
  const [first = [], ...others] = rows.slice(0, 200);
  if (others.length === 0) return true;
  const hints = { texts: true, decimalComma, names: true };
  return !first.some((value, at) => {
    const below = others.map((row) => row[at] ?? '');
    const shape = shapeOf(below, hints).type;
    return !['text', 'long_text'].includes(shape) && shapeOf([value], hints).type === shape && value.trim() !== '';
  });
}

/** Parses a CSV file into a table. Throws an `ImportFault` when it is not a table or too large. */
export function readCsv(
  bytes: Buffer,
  path: string,
  options: CsvOptions = {},
  lists = false,
): { table: Table; warnings: string[] } {
  const decoded = textOfFile(bytes, options.encoding);
  const whole = withEqualEnds(wellFormed(decoded.text).replace(/^\ufeff/, ''));
  // Excel names its delimiter in a line of its own.
  const named = /^sep=(.)\r?\n/i.exec(whole);
  const text = named === null ? whole : whole.slice(named[0].length);
  const { rows, delimiter, warnings } = parseRows(text, options.delimiter || named?.[1], path);
  if (rows.length === 0) throw new ImportFault('empty_table', `${path} has no rows.`);
  const decimalComma = delimiter === ';' || delimiter === '\t';
  const withHeader = options.hasHeader ?? hasNames(rows, decimalComma);
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
  checkSize(rows.length - (withHeader ? 1 : 0), width, path);
  const header = Array.from({ length: width }, (_, at) => (withHeader ? (rows[0]?.[at] ?? '') : ''));
  const body = withHeader ? rows.slice(1) : rows;
  const built = buildTable({
    header,
    rows: body,
    detectTypes: options.detectTypes ?? true,
    hints: { texts: true, decimalComma, lists },
  });
  return {
    table: built.table,
    warnings: [...decoded.warnings, ...warnings, ...ragged(rows, withHeader), ...built.warnings],
  };
}

/** Returns a warning about rows that have more or fewer values than the first. */
function ragged(rows: readonly (readonly string[])[], withHeader: boolean): string[] {
  const expected = rows[0]?.length ?? 0;
  const odd = rows.flatMap((row, at) => (row.length === expected ? [] : [at + 1]));
  if (odd.length === 0) return [];
  const places = `${odd.slice(0, 10).join(', ')}${odd.length > 10 ? ', …' : ''}`;
  const first = withHeader ? 'header' : 'first row';
  return [
    `${odd.length} rows have more or fewer values than the ${first} (${expected}): rows ${places}. All values are kept.`,
  ];
}
