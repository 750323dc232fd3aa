/**
 * Consecutive terms in a text. Index lookup and highlighting use the same patterns, so that both agree on what matches.
 */
export interface Pattern {
  readonly terms: readonly string[];
  /** Whether the last term is a prefix, of the stem or of the word as it is written. */
  readonly prefix: boolean;
}

/** Alternatives: a group matches where one of its patterns does. */
export type Patterns = readonly Pattern[];

/** Gives access to the vocabulary of an index, for completing and correcting words. */
export interface Vocabulary {
  /** Returns whether any text contains the term. */
  has(term: string): boolean;
  /** Returns some of the words that begin with `beginning`. */
  completions(beginning: string): readonly string[];
  /** Returns the words nearest to a misspelt one, at most `edits` edits away. */
  corrections(word: string, edits: number): readonly string[];
}

/** Returns the number of typing errors that a word of this length may contain. */
export function allowedEdits(length: number): number {
  if (length < 5) return 0;
  return length < 9 ? 1 : 2;
}
