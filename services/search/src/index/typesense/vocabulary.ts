import { correctionsOf } from '../../domain/edits.js';
import { type Field, USUAL_FIELDS } from '../../domain/narrowing.js';
import { allowedEdits, type Vocabulary } from '../../domain/pattern.js';
import type { Group } from '../../domain/query.js';
import type { Document, Search, Server } from './client.js';
import { among, both, either } from './filter.js';
import type { Names } from './names.js';
import { type Token, termToken } from './tokens.js';

const MAX_COMPLETIONS = 40;
const MAX_CANDIDATES = 250;
const WORD = /^\p{L}{2,32}$/u;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Stands for a letter that is missing. */
const ANY = '0';

/**
 * Replaces each character of a word by one that Typesense knows, so that it can find typos in any script: similar words
 * have similar shapes, and this module checks which words really match.
 */
function shapeOf(word: string): string {
  let shape = '';
  for (let i = 0; i < word.length; i++) {
    const unit = word.charCodeAt(i);
    shape += unit >= 0x61 && unit <= 0x7a ? word.charAt(i) : LETTERS.charAt(unit % LETTERS.length);
  }
  return shape;
}

/** Returns the documents of words that can complete or correct others. */
export function wordDocuments(partition: Token, words: Iterable<string>): Document[] {
  const documents: Document[] = [];
  for (const word of words) {
    if (!WORD.test(word)) continue;
    documents.push({ id: `${partition}.${termToken(word)}`, partition, shape: shapeOf(word), word });
  }
  return documents;
}

/** Reads the words of some partitions that may complete or correct the groups, for a search in some fields. */
export async function vocabularyFor(
  server: Server,
  names: Names,
  partitions: readonly Token[],
  groups: readonly Group[],
  fields: readonly Field[],
): Promise<Vocabulary> {
  const open = groups.filter(({ prefix }) => prefix).map(({ surface }) => surface);
  const correctable = groups.filter(({ correctable }) => correctable);
  const lastTerms = correctable.map(({ terms }) => terms.at(-1) as string);
  const found = await server.search([
    ...open.map((surface) => beginningWith(names, partitions, surface)),
    ...lastTerms.map((term) => havingTerm(names, partitions, term, fields)),
  ]);
  const completions = new Map(open.map((surface, i) => [surface, wordsIn(found[i]?.hits ?? [], surface)]));
  const known = new Set(lastTerms.filter((_, i) => (found[open.length + i]?.found ?? 0) > 0));
  const wrong = correctable.filter(({ terms, surface }) => {
    const completed = (completions.get(surface)?.length ?? 0) > 0;
    return !known.has(terms.at(-1) as string) && !completed && allowedEdits(surface.length) > 0;
  });
  const asked = wrong.flatMap(({ surface }) => likeShapesOf(surface).map((shape) => ({ surface, shape })));
  const near = await server.search(asked.map(({ shape }) => nearTo(names, partitions, shape)));
  const candidates = new Map<string, Set<string>>(wrong.map(({ surface }) => [surface, new Set()]));
  for (const [i, { surface }] of asked.entries()) {
    for (const word of wordsIn(near[i]?.hits ?? [], '')) candidates.get(surface)?.add(word);
  }
  return {
    has: (term) => known.has(term),
    completions: (beginning) => completions.get(beginning)?.slice(0, MAX_COMPLETIONS) ?? [],
    corrections: (word, edits) => correctionsOf(word, candidates.get(word) ?? [], edits),
  };
}

function wordsIn(hits: readonly { readonly document: Document }[], beginning: string): string[] {
  const words = hits.map(({ document }) => String(document.word)).filter((word) => word.startsWith(beginning));
  return [...new Set(words)];
}

function lookUp(names: Names, partitions: readonly Token[], shape: string): Search {
  return {
    collection: names.words,
    q: shape,
    query_by: 'shape',
    filter_by: among('partition', partitions),
    include_fields: 'word',
    highlight_fields: 'none',
    drop_tokens_threshold: 0,
    exhaustive_search: true,
    per_page: MAX_CANDIDATES,
  };
}

function beginningWith(names: Names, partitions: readonly Token[], surface: string): Search {
  return { ...lookUp(names, partitions, shapeOf(surface)), prefix: 'true', num_typos: '0' };
}

/**
 * Returns the shapes for which similar ones are sought: that of the word, and those in which a letter, or two if so many
 * edits are allowed, is removed or inserted at its beginning. Typesense finds no typos that do this to the first two
 * letters, but an inserted letter may be any, since it finds those that replace one.
 */
function likeShapesOf(word: string): string[] {
  const shape = shapeOf(word);
  const [first, rest, behind] = [shape.slice(0, 1), shape.slice(1), shape.slice(2)];
  const shapes = [shape, rest, first + behind, ANY + shape, first + ANY + rest];
  return allowedEdits(word.length) > 1 ? [...shapes, behind, ANY + ANY + shape] : shapes;
}

function nearTo(names: Names, partitions: readonly Token[], shape: string): Search {
  const typos = { num_typos: '2', min_len_1typo: 1, min_len_2typo: 1, typo_tokens_threshold: MAX_CANDIDATES };
  return { ...lookUp(names, partitions, shape), ...typos, prefix: 'false' };
}

function havingTerm(names: Names, partitions: readonly Token[], term: string, fields: readonly Field[]): Search {
  const token = [termToken(term)];
  const known = [...new Set([...USUAL_FIELDS, ...fields])];
  const has = either(...known.map((field) => among(`${field}_terms`, token)));
  const filter = both(among('partition', partitions), has);
  return { collection: names.entries, q: '*', filter_by: filter, per_page: 0 };
}
