import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Text {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** Texts, questions, and how well texts answer them as people have judged: 0 is not at all. */
export interface Collection {
  readonly documents: readonly Text[];
  readonly queries: readonly { readonly id: string; readonly text: string }[];
  /** By query, then by document. */
  readonly grades: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Reads a collection from a folder; undefined where it is not there. */
export function readCollection(folder: string): Collection | undefined {
  if (!existsSync(join(folder, 'documents.jsonl'))) return undefined;
  const lines = (file: string) => readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean);
  const documents = lines('documents.jsonl').map((line) => JSON.parse(line) as Record<string, unknown>);
  const queries = lines('queries.jsonl').map((line) => JSON.parse(line) as Record<string, unknown>);
  const grades = new Map<string, Map<string, number>>();
  for (const line of lines('qrels.tsv').slice(1)) {
    const [query = '', document = '', grade] = line.split('\t');
    const judged = grades.get(query) ?? new Map<string, number>();
    grades.set(query, judged.set(document, Number(grade)));
  }
  return {
    documents: documents.map(({ id, title, text }) => ({
      id: String(id),
      title: String(title ?? ''),
      text: String(text ?? ''),
    })),
    queries: queries.map(({ id, text }) => ({ id: String(id), text: String(text) })),
    grades,
  };
}
