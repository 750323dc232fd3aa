import { createHash } from 'node:crypto';
import { analyse } from '@commonplace/kit/analysis';
import { LRUCache } from 'lru-cache';
import { blocksOf } from '../../domain/blocks.js';

/** Characters beyond which a text is analysed in blocks when it changes. */
const LONG_TEXT_CHARS = 16_384;
/** Characters of terms that are cached. */
const MAX_CACHED_TERM_CHARS = 4_000_000;

/** Caches the terms of blocks of recently changed long texts, by vocabulary and block. */
export type KnownBlocks = LRUCache<string, string>;

export function createKnownBlocks(): KnownBlocks {
  return new LRUCache({ maxSize: MAX_CACHED_TERM_CHARS, sizeCalculation: (terms) => terms.length + 100 });
}

/**
 * Returns the terms of a changed text, the same as analysing it as a whole. Of a long text only new blocks are
 * analysed; `addWords` gets their words.
 */
export function analyseChanged(
  known: KnownBlocks,
  vocabulary: number,
  text: string,
  addWords: (words: ReadonlySet<string>) => void,
): string {
  if (text.length <= LONG_TEXT_CHARS) return analyseBlock(text, addWords);
  const all: string[] = [];
  for (const block of blocksOf(text)) {
    const key = `${vocabulary} ${createHash('sha256').update(block).digest('base64url')}`;
    const held = known.get(key);
    const terms = held ?? analyseBlock(block, addWords);
    if (held === undefined) known.set(key, terms);
    if (terms !== '') all.push(terms);
  }
  return all.join(' ');
}

function analyseBlock(text: string, addWords: (words: ReadonlySet<string>) => void): string {
  const { terms, words } = analyse(text);
  addWords(words);
  return terms;
}
