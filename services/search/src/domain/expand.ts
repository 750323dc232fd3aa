import { stemOf } from '@commonplace/kit/analysis';
import { allowedEdits, type Patterns, type Vocabulary } from './pattern.js';
import type { Group } from './query.js';

/** Characters of a word from which its stem may be shorter than the typed prefix. */
const MIN_COMPLETED_CHARS = 5;
const WORD = /^\p{L}+$/u;

/**
 * Returns the patterns that match a group: its words as they are, their completions, and, if no text contains them,
 * their corrections.
 */
export function expand(group: Group, vocabulary: Vocabulary): Patterns {
  const { terms, surface } = group;
  const term = terms.at(-1) as string;
  const before = terms.slice(0, -1);
  if (!WORD.test(surface) || term.length < 2) return [{ terms, prefix: group.prefix }];

  const exact = { terms, prefix: false };
  const stems = new Set<string>();
  let known = !group.correctable || surface.length < MIN_COMPLETED_CHARS;
  if (group.prefix && surface.length >= MIN_COMPLETED_CHARS) {
    const completions = vocabulary.completions(surface);
    known ||= completions.length > 0;
    for (const word of completions) stems.add(stemOf(word));
  }
  if (!known && !vocabulary.has(term)) {
    for (const word of vocabulary.corrections(surface, allowedEdits(surface.length))) stems.add(stemOf(word));
  }
  const others = [...stems].filter((stem) => stem !== term && !(group.prefix && stem.startsWith(surface)));
  return [
    exact,
    ...(group.prefix ? [{ terms: [...before, surface], prefix: true }] : []),
    ...others.map((stem) => ({ terms: [...before, stem], prefix: false })),
  ];
}
