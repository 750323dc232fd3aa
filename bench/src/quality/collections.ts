import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { testData } from '@commonplace/acceptance/dist/src/system.js';
import type { Collection, Judgements, Query, Text } from './collection.js';
import {
  jsonLines,
  judgementLists,
  judgements,
  numbered,
  parts,
  smartDocuments,
  smartQueries,
  tabbed,
  tidy,
} from './formats.js';

/** Describes how to read the files of a collection in the form in which it is published. */
interface Published {
  /** Files that are required. */
  readonly files: readonly string[];
  read(file: (name: string) => string, names: readonly string[]): Omit<Collection, 'name'>;
}

const BEIR: Published = {
  files: ['corpus.jsonl', 'queries.jsonl', 'qrels/test.tsv'],
  read: (file) => ({
    documents: jsonLines(file('corpus.jsonl')),
    queries: jsonLines(file('queries.jsonl')),
    grades: judgements(file('qrels/test.tsv'), { query: 0, document: 1, grade: 2 }),
  }),
};

/** Articles of TIME before those that its published file lacks, and the number of the latter. */
const TIME_GAP = { from: 370, articles: 2 };

/** Collections by name. Each has a folder with that name. */
export const COLLECTIONS: Readonly<Record<string, Published>> = {
  cranfield: {
    files: ['documents.jsonl', 'queries.jsonl', 'qrels.tsv'],
    read: (file) => ({
      documents: jsonLines(file('documents.jsonl')),
      queries: jsonLines(file('queries.jsonl')),
      grades: judgements(file('qrels.tsv'), { query: 0, document: 1, grade: 2 }),
    }),
  },
  cacm: {
    files: ['cacm.all', 'query.text', 'qrels.text'],
    read: (file) => ({
      documents: smartDocuments(file('cacm.all')),
      queries: smartQueries(file('query.text')),
      grades: judgements(file('qrels.text'), { query: 0, document: 1 }),
    }),
  },
  cisi: smart('CISI'),
  med: { ...smart('MED'), read: (file) => readSmart(file, 'MED', { query: 0, document: 2 }) },
  npl: {
    files: ['doc-text', 'query-text', 'rlv-ass'],
    read: (file) => ({
      documents: parts(file('doc-text'), /^ *\/ *$/m)
        .map(numbered)
        .map(untitled),
      queries: parts(file('query-text'), /^ *\/ *$/m).map(numbered),
      grades: judgementLists(parts(file('rlv-ass'), /^ *\/ *$/m)),
    }),
  },
  lisa: {
    files: ['LISA.QUE', 'LISA.REL'],
    read: (file, names) => ({
      documents: names
        .filter((name) => /^LISA\d\.\d+$/.test(name))
        .flatMap((name) => parts(file(name), /^\*{40,}$/m))
        .map(titled),
      queries: parts(file('LISA.QUE'), /#/).map(numbered),
      grades: judgementLists(
        parts(file('LISA.REL'), /^Query /m).map((part) => part.replace(/\n.*Relevant Refs:/, '').replace(/-1\s*$/, '')),
      ),
    }),
  },
  time: {
    files: ['TIME.ALL', 'TIME.QUE', 'TIME.REL'],
    read: (file) => ({
      // Judgements identify an article by its position. The published file lacks the articles numbered 499 and 500.
      documents: parts(file('TIME.ALL').replace(/\*STOP\s*$/, ''), /^\*TEXT.*$/m).map((part, i) => {
        return { id: String(i < TIME_GAP.from ? i + 1 : i + 1 + TIME_GAP.articles), title: '', text: tidy(part) };
      }),
      queries: parts(file('TIME.QUE').replace(/\*STOP\s*$/, ''), /^\*FIND/m).map(numbered),
      grades: judgementLists(parts(file('TIME.REL'), /\n/)),
    }),
  },
  nfcorpus: {
    files: ['test.docs', 'test.titles.queries', 'test.3-2-1.qrel'],
    read: (file) => ({
      documents: tabbed(file('test.docs')).map(untitled),
      queries: tabbed(file('test.titles.queries')),
      grades: judgements(file('test.3-2-1.qrel'), { query: 0, document: 2, grade: 3 }),
    }),
  },
  msmarco: BEIR,
  dbpedia: BEIR,
};

function smart(prefix: string): Published {
  return {
    files: ['ALL', 'QRY', 'REL'].map((ending) => `${prefix}.${ending}`),
    read: (file) => readSmart(file, prefix, { query: 0, document: 1 }),
  };
}

function readSmart(
  file: (name: string) => string,
  prefix: string,
  columns: { query: number; document: number },
): Omit<Collection, 'name'> {
  return {
    documents: smartDocuments(file(`${prefix}.ALL`)),
    queries: smartQueries(file(`${prefix}.QRY`)),
    grades: judgements(file(`${prefix}.REL`), columns),
  };
}

function untitled({ id, text }: Query): Text {
  return { id, title: '', text };
}

/** Parses `Document 1`, a title up to an empty line, and a text. */
function titled(part: string): Text {
  const [head = '', ...lines] = part.split('\n');
  const [title, ...text] = lines.join('\n').split(/\n\s*\n/);
  return { id: head.replace(/\D+/g, ''), title: tidy(title), text: tidy(text.join('\n')) };
}

/** Returns the possible folders of a collection, in the test data and in the cache. */
export function placesOf(name: string): string[] {
  const data = testData();
  const cached = join(homedir(), '.cache/commonplace/collections', name);
  return data === undefined ? [cached] : [join(data, name), cached];
}

/** Maximum number of characters in a query of a search. */
const MAX_QUERY_CHARS = 1000;

/** Reads a collection; returns undefined if its files are missing. */
export function readCollection(name: string): Collection | undefined {
  const published = COLLECTIONS[name];
  const folder = placesOf(name).find((place) => published?.files.every((file) => existsSync(join(place, file))));
  if (published === undefined || folder === undefined) return undefined;
  const file = (path: string): string => readFileSync(join(folder, path), 'utf8');
  const { documents, queries, grades } = published.read(file, readdirSync(folder).sort());
  const known = new Set(documents.map(({ id }) => id));
  const judged = knownOnly(grades, known);
  const asked = queries.filter(({ id }) => judged.has(id));
  return { name, documents, queries: asked.map(({ id, text }) => ({ id, text: cut(text) })), grades: judged };
}

/** Removes grades of documents that the collection lacks, and then queries that no document answers. */
function knownOnly(grades: Judgements, known: ReadonlySet<string>): Judgements {
  const judged = [...grades].map(
    ([id, by]) => [id, new Map([...by].filter(([document]) => known.has(document)))] as const,
  );
  return new Map(judged.filter(([, by]) => [...by.values()].some((grade) => grade > 0)));
}

function cut(text: string): string {
  return text.length <= MAX_QUERY_CHARS ? text : text.slice(0, text.lastIndexOf(' ', MAX_QUERY_CHARS));
}
