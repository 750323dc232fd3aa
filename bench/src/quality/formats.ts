// Reads the formats in which judged collections are published.
import type { Judgements, Query, Text } from './collection.js';

/** A record in the format of Smart: texts by the letter of their field. */
type Fields = ReadonlyMap<string, string>;

/** Reads records that begin with `.I number` and whose fields begin with lines such as `.T` and `.W`. */
function smartRecords(file: string): Map<string, Fields> {
  const records = new Map<string, Map<string, string>>();
  let fields = new Map<string, string>();
  let field = '';
  for (const line of file.split(/\r?\n/)) {
    const begins = /^\.I\s+(\d+)/.exec(line);
    const letter = /^\.([A-Z])\s*$/.exec(line)?.[1];
    if (begins !== null) {
      fields = new Map();
      records.set(begins[1] as string, fields);
    } else if (letter !== undefined) field = letter;
    else fields.set(field, `${fields.get(field) ?? ''}${line}\n`);
  }
  return records;
}

export function smartDocuments(file: string): Text[] {
  return [...smartRecords(file)].map(([id, fields]) => ({
    id,
    title: tidy(fields.get('T')),
    text: tidy(fields.get('W')),
  }));
}

export function smartQueries(file: string): Query[] {
  return [...smartRecords(file)].map(([id, fields]) => ({ id, text: tidy(fields.get('W')) }));
}

/** Reads lines with columns separated by white space. Without a column for the grade, the grade is 1. */
export function judgements(file: string, columns: { query: number; document: number; grade?: number }): Judgements {
  const grades = new Map<string, Map<string, number>>();
  for (const line of file.split(/\r?\n/)) {
    const cells = line.trim().split(/\s+/);
    const grade = columns.grade === undefined ? 1 : Number(cells[columns.grade]);
    // A line of headings has no number.
    if (cells.length < 2 || Number.isNaN(grade)) continue;
    add(grades, numberless(cells[columns.query]), numberless(cells[columns.document]), grade);
  }
  return grades;
}

/** Reads lists of documents, each of which starts with the number of its query. */
export function judgementLists(lists: readonly string[]): Judgements {
  const grades = new Map<string, Map<string, number>>();
  for (const list of lists) {
    const [query = '', ...documents] = list.trim().split(/\s+/);
    for (const document of documents) add(grades, query, document, 1);
  }
  return grades;
}

function add(grades: Map<string, Map<string, number>>, query: string, document: string, grade: number): void {
  const judged = grades.get(query) ?? new Map<string, number>();
  grades.set(query, judged.set(document, Math.max(grade, judged.get(document) ?? 0)));
}

/** Removes leading zeros from an id, since the texts have none. */
function numberless(id = ''): string {
  return id.replace(/^0+(?=\d+$)/, '');
}

/** Splits a file into parts, each of which ends with a line that matches `mark`. */
export function parts(file: string, mark: RegExp): string[] {
  return file
    .replaceAll('\r', '')
    .split(mark)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Splits a part into its first line, which is its number, and the rest. */
export function numbered(part: string): Query {
  const [id = '', ...lines] = part.split('\n');
  return { id: id.replace(/\D+/g, ' ').trim(), text: tidy(lines.join('\n')) };
}

/** Reads one JSON record per line, with `id` or `_id`, `title` and `text`. */
export function jsonLines(file: string): Text[] {
  return file
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const { id, _id, title, text } = JSON.parse(line) as Record<string, unknown>;
      return { id: String(id ?? _id), title: String(title ?? ''), text: String(text ?? '') };
    });
}

/** Reads lines that consist of an id, a tab and a text. */
export function tabbed(file: string): Query[] {
  return file
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ id: line.slice(0, line.indexOf('\t')), text: line.slice(line.indexOf('\t') + 1) }));
}

export function tidy(text = ''): string {
  return text.replace(/\s+/g, ' ').trim();
}
