import { emptyToken, fold, nextToken, stemOf } from '@commonplace/kit/analysis';

/** Different terms by which one message is found; those of the rest of a very long text are left out. */
export const MAX_TERMS = 4000;
/** Words of a query that are looked at. */
const MAX_QUERY_WORDS = 16;

/** What a message is found by. */
export interface MessageTerms {
  /** Stems of words, pairs of adjacent characters of scripts without spaces, and these characters themselves. */
  readonly terms: readonly string[];
  /** The folded text, if it has characters of scripts without spaces. */
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

/** What a message has to contain. */
export interface MessageQuery {
  readonly terms: readonly string[];
  /** Runs of characters of scripts without spaces, folded. */
  readonly runs: readonly string[];
}

/** Parses a query: every word of it has to be in a message. Returns undefined if it has none. */
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
      // The last character of a run is in the pair before it.
      if (isPair || run === '') terms.add(token.term);
      run += firstCharacter(token.term);
      continue;
    }
    words++;
    terms.add(token.term);
  }
  if (run !== '') runs.add(run);
  return terms.size === 0 ? undefined : { terms: [...terms], runs: [...runs].filter((one) => [...one].length > 2) };
}

/** Returns whether a short text, such as a name, has words that begin with all words of a query. */
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
