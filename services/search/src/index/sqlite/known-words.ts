/** The words that an index file is known to contain, so that they are not inserted again. */
export interface KnownWords {
  has(vocabulary: number, word: string): boolean;
  /** Adds a word. When there are too many, all others are forgotten, and inserted once more when they occur. */
  add(vocabulary: number, word: string): void;
  clear(): void;
}

const MAX_KNOWN_WORDS = 200_000;

export function createKnownWords(): KnownWords {
  const byVocabulary = new Map<number, Set<string>>();
  let count = 0;
  const clear = (): void => {
    byVocabulary.clear();
    count = 0;
  };
  return {
    has: (vocabulary, word) => byVocabulary.get(vocabulary)?.has(word) ?? false,
    add(vocabulary, word) {
      if (count >= MAX_KNOWN_WORDS) clear();
      const words = byVocabulary.get(vocabulary) ?? new Set();
      byVocabulary.set(vocabulary, words.add(word));
      count++;
    },
    clear,
  };
}
