import { editsBetween } from '../../domain/edits.js';
import { allowedEdits, type Vocabulary } from '../../domain/pattern.js';
import type { Group } from '../../domain/query.js';
import { type Field, USUAL_FIELDS } from '../port.js';
import type { Document, Search, Server } from './client.js';
import { among, both, either } from './filter.js';
import type { Names } from './names.js';
import { type Token, termToken } from './tokens.js';

const MOST_COMPLETIONS = 40;
const MOST_CORRECTIONS = 5;
const MOST_LOOKED_AT = 250;
const WORD = /^\p{L}{2,32}$/u;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * A word with each letter in one of Typesense's own, so that it can find by typing errors in any script: near
 * words have near shapes, and which words those are is looked at here.
 */
function shapeOf(word: string): string {
  let shape = '';
  for (let i = 0; i < word.length; i++) {
    const unit = word.charCodeAt(i);
    shape += unit >= 0x61 && unit <= 0x7a ? word.charAt(i) : LETTERS.charAt(unit % LETTERS.length);
  }
  return shape;
}

/** The documents of words that are looked up; others neither complete nor correct anything. */
export function wordDocuments(partition: Token, words: Iterable<string>): Document[] {
  const documents: Document[] = [];
  for (const word of words) {
    if (!WORD.test(word)) continue;
    documents.push({ id: `${partition}.${termToken(word)}`, partition, shape: shapeOf(word), word });
  }
  return documents;
}

/** What the words of one tenant's texts complete and correct the words of some groups to, as sought in some fields. */
export async function vocabularyFor(
  server: Server,
  names: Names,
  partition: Token,
  groups: readonly Group[],
  fields: readonly Field[],
): Promise<Vocabulary> {
  const open = groups.filter(({ prefix }) => prefix).map(({ surface }) => surface);
  const correctable = groups.filter(({ correctable }) => correctable);
  const lastTerms = correctable.map(({ terms }) => terms.at(-1) as string);
  const found = await server.search([
    ...open.map((surface) => beginningWith(names, partition, surface)),
    ...lastTerms.map((term) => havingTerm(names, partition, term, fields)),
  ]);
  const completions = new Map(open.map((surface, i) => [surface, wordsIn(found[i]?.hits ?? [], surface)]));
  const known = new Set(lastTerms.filter((_, i) => (found[open.length + i]?.found ?? 0) > 0));
  const wrong = correctable.filter(({ terms, surface }) => {
    const completed = (completions.get(surface)?.length ?? 0) > 0;
    return !known.has(terms.at(-1) as string) && !completed && allowedEdits(surface.length) > 0;
  });
  const near = await server.search(wrong.map(({ surface }) => nearTo(names, partition, surface)));
  const candidates = new Map(wrong.map(({ surface }, i) => [surface, wordsIn(near[i]?.hits ?? [], '')]));
  return {
    has: (term) => known.has(term),
    completions: (beginning) => completions.get(beginning)?.slice(0, MOST_COMPLETIONS) ?? [],
    corrections: (word, edits) => nearest(word, candidates.get(word) ?? [], edits),
  };
}

function wordsIn(hits: readonly { readonly document: Document }[], beginning: string): string[] {
  return hits.map(({ document }) => String(document.word)).filter((word) => word.startsWith(beginning));
}

function lookUp(names: Names, partition: Token, shape: string): Search {
  return {
    collection: names.words,
    q: shape,
    query_by: 'shape',
    filter_by: among('partition', [partition]),
    include_fields: 'word',
    highlight_fields: 'none',
    drop_tokens_threshold: 0,
    exhaustive_search: true,
    per_page: MOST_LOOKED_AT,
  };
}

function beginningWith(names: Names, partition: Token, surface: string): Search {
  return { ...lookUp(names, partition, shapeOf(surface)), prefix: 'true', num_typos: '0' };
}

function nearTo(names: Names, partition: Token, surface: string): Search {
  const typos = { num_typos: '2', min_len_1typo: 1, min_len_2typo: 1, typo_tokens_threshold: MOST_LOOKED_AT };
  return { ...lookUp(names, partition, shapeOf(surface)), ...typos, prefix: 'false' };
}

function havingTerm(names: Names, partition: Token, term: string, fields: readonly Field[]): Search {
  const token = [termToken(term)];
  const known = [...new Set([...USUAL_FIELDS, ...fields])];
  const has = either(...known.map((field) => among(`${field}_terms`, token)));
  const filter = both(among('partition', [partition]), has);
  return { collection: names.entries, q: '*', filter_by: filter, per_page: 0 };
}

/** Those with the fewest edits, within the limit. */
function nearest(word: string, candidates: readonly string[], limit: number): string[] {
  // The word itself is known of texts that are gone, or that are not searched.
  const others = candidates.filter((candidate) => candidate !== word);
  const edits = others.map((candidate) => editsBetween(word, candidate, limit));
  const least = Math.min(limit, ...edits);
  return others.filter((_, i) => edits[i] === least).slice(0, MOST_CORRECTIONS);
}
