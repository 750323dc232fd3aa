/**
 * Terms that follow each other in a text. What an index looks up and what is highlighted are the
 * same patterns, so that both agree on what matches.
 */
export interface Pattern {
  readonly terms: readonly string[];
  /** The last term may go on, in the stem or in the word as it is written. */
  readonly prefix: boolean;
}

/** A group is met where one of its patterns is. */
export type Patterns = readonly Pattern[];

/** How a group's words are completed and corrected; what an index knows of its vocabulary. */
export interface Vocabulary {
  /** Whether any text has the term. */
  has(term: string): boolean;
  /** Some words that begin so, shortest differences first. */
  completions(beginning: string): readonly string[];
  /** The words nearest to a misspelt one, at the most `edits` away. */
  corrections(word: string, edits: number): readonly string[];
}

/** Typing errors that a word of so many characters may hold. */
export function allowedEdits(length: number): number {
  if (length < 5) return 0;
  return length < 9 ? 1 : 2;
}
