import { emptyToken, fold, isEmoji, isStopWord, nextToken } from '@commonplace/kit/analysis';
import { fingerprint } from '@commonplace/kit/id';
import type { Where } from '@commonplace/kit/store';
import type { WorkItemRecord } from './records.js';

/** Number of characters of a description that are indexed. */
const INDEXED_CHARACTERS = 4_000;
/** Maximum number of words of a query that are used. */
const MAX_QUERY_TERMS = 16;

/** Length of the prefix that marks a term's workspace, so that a search reads only terms of its workspaces. */
const MARK_LENGTH = 10;
const markOf = (workspaceId: string): string => fingerprint(workspaceId).slice(0, MARK_LENGTH);
/** The prefix of a label; no word begins with it. */
const LABEL = '=';

/** Returns the search terms of a work item in their stored form. */
export function termsOf({
  workspaceId,
  title,
  description,
  labels,
}: Pick<WorkItemRecord, 'workspaceId' | 'title' | 'description' | 'labels'>): string[] {
  const mark = markOf(workspaceId);
  const words = wordsIn(`${title}\n${description.slice(0, INDEXED_CHARACTERS)}`);
  return [...[...words].map((word) => `${mark}${word}`), ...labels.map((label) => `${mark}${LABEL}${label}`)];
}

/**
 * Returns the stems of a text; for scripts without spaces between words, the pairs of adjacent characters and the
 * characters.
 */
function wordsIn(text: string): Set<string> {
  const folded = fold(text).text;
  const words = new Set<string>();
  const token = emptyToken();
  for (let at = 0; nextToken(folded, at, token); at = token.next) {
    words.add(token.term);
    if (token.gram) words.add(String.fromCodePoint(token.term.codePointAt(0) as number));
  }
  return words;
}

/** Returns the terms that a query requires; undefined if the query contains no word. */
function queryTerms(query: string): string[] | undefined {
  const folded = fold(query).text;
  const token = emptyToken();
  const all: string[] = [];
  const words: string[] = [];
  for (let at = 0; all.length < MAX_QUERY_TERMS && nextToken(folded, at, token); at = token.next) {
    all.push(token.term);
    // Earlier versions have not indexed the emoji of work items.
    if (!isStopWord(token.surface) && !isEmoji(token.term)) words.push(token.term);
  }
  if (all.length === 0) return undefined;
  return [...new Set(words.length > 0 ? words : all)];
}

const NUMBER = /^#(\d{1,10})$/;
const NOTHING: Where<WorkItemRecord> = { id: { in: [] } };

/** Returns the filter for a query: a number such as `#12`, or words of title and description. */
export function matchingQuery(query: string, workspaceIds: readonly string[]): Where<WorkItemRecord> {
  const text = query.trim();
  if (text === '') return {};
  const [, number] = NUMBER.exec(text) ?? [];
  if (number !== undefined) return { numberKey: { in: workspaceIds.map((id) => numberKey(id, Number(number))) } };
  const terms = queryTerms(text);
  return terms === undefined ? NOTHING : { and: terms.map((term) => having(term, workspaceIds)) };
}

/** Returns the filter for work items with a label. */
export function withLabel(label: string, workspaceIds: readonly string[]): Where<WorkItemRecord> {
  return label === '' ? {} : having(`${LABEL}${label}`, workspaceIds);
}

const having = (term: string, workspaceIds: readonly string[]): Where<WorkItemRecord> => ({
  terms: { containsAny: workspaceIds.map((id) => `${markOf(id)}${term}`) },
});

export const numberKey = (workspaceId: string, number: number): string => `${workspaceId}:${number}`;
