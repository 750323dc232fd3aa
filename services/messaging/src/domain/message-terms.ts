import { emptyToken, fold, isEmoji, nextToken, stemOf } from '@commonplace/kit/analysis';

/** Maximum number of different terms that one message is indexed by; terms beyond it are left out. */
const MAX_TERMS = 4000;
/** Maximum number of words of a query that are used. */
const MAX_QUERY_WORDS = 16;

/** The search terms of a message. */
export interface MessageTerms {
  /** Stems of words; for scripts without spaces between words, pairs of adjacent characters and single characters. */
  readonly terms: readonly string[];
  /** The folded text, if it contains a script without spaces between words. */
  readonly folded: string | undefined;
}

export function termsOf(text: string): MessageTerms {
  const folded = fold(text).text;
  const terms = new Set<string>();
  const token = emptyToken();
  let hasGrams = false;
  for (let at = 0; terms.size < MAX_TERMS && nextToken(folded, at, token); at = token.next) {
    terms.add(token.term);
    if (!token.gram) continue;
    hasGrams = true;
    terms.add(firstCharacter(token.term));
  }
  return { terms: [...terms], folded: hasGrams ? folded : undefined };
}

/** The conditions that a message has to meet. */
export interface MessageQuery {
  readonly terms: readonly string[];
  /** Folded character runs of scripts without spaces between words. */
  readonly runs: readonly string[];
}

/** Parses a query; a message has to contain all of its words. Returns undefined if the query contains no word. */
export function parseMessageQuery(query: string): MessageQuery | undefined {
  const folded = fold(query).text;
  const terms = new Set<string>();
  const runs = new Set<string>();
  const token = emptyToken();
  let run = '';
  let words = 0;
  let end = 0;
  for (let at = 0; words < MAX_QUERY_WORDS && nextToken(folded, at, token); at = token.next) {
    if (token.start > end || !token.gram) {
      if (run !== '') runs.add(run);
      run = '';
    }
    end = token.next;
    if (token.gram) {
      const isPair = token.end > token.next;
      // The last character of a run is already part of the pair before it.
      if (isPair || run === '') terms.add(token.term);
      run += firstCharacter(token.term);
      continue;
    }
    words++;
    terms.add(token.term);
  }
  if (run !== '') runs.add(run);
  return terms.size === 0
    ? undefined
    : { terms: withoutEmoji([...terms]), runs: [...runs].filter((one) => [...one].length > 2) };
}

/** Removes emoji from a query that has words: earlier versions have not indexed those of messages. */
function withoutEmoji(terms: readonly string[]): readonly string[] {
  const words = terms.filter((term) => !isEmoji(term));
  return words.length > 0 ? words : terms;
}

/** Returns whether a short text, such as a name, contains a word beginning with each word of a query. */
export function matchesName(name: string, query: MessageQuery): boolean {
  const folded = fold(name).text;
  const has = new Set(termsOf(name).terms);
  const words = folded.split(/[^\p{L}\p{N}\p{M}]+/u);
  return query.terms.every(
    (term) => has.has(term) || words.some((word) => word.startsWith(term) || stemOf(word) === term),
  );
}

function firstCharacter(text: string): string {
  return String.fromCodePoint(text.codePointAt(0) as number);
}
