import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { analyse } from '../../domain/analysis.js';
import { blocksOf } from '../../domain/blocks.js';

/** Texts that are longer are analysed in blocks when they change. */
const LONG_TEXT = 16_384;
/** Characters of terms that are kept. */
const KEPT_TERMS = 4_000_000;

/** The terms of the blocks of long texts that have changed lately, by tenant and block. */
export type KnownBlocks = LRUCache<string, string>;

export function createKnownBlocks(): KnownBlocks {
  return new LRUCache({ maxSize: KEPT_TERMS, sizeCalculation: (terms) => terms.length + 100 });
}

/**
 * The terms of a text that takes the place of another, as the analyser gives them for the whole. Of a long text only
 * blocks are analysed that are new; `addWords` is told the words of those.
 */
export function analyseChanged(
  known: KnownBlocks,
  tenant: number,
  text: string,
  addWords: (words: ReadonlySet<string>) => void,
): string {
  if (text.length <= LONG_TEXT) return analyseBlock(text, addWords);
  const all: string[] = [];
  for (const block of blocksOf(text)) {
    const key = `${tenant} ${createHash('sha256').update(block).digest('base64url')}`;
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
