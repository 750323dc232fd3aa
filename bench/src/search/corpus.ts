import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { IndexEntry as Entry } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';

/** Creates a generator of numbers from 0 to 1, which yields the same numbers in every run. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

const SYLLABLES =
  'ba be bi bo bu ca co cu da de di do du fa fe fi fo ga ge go gu ha he hi ho ka ki la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo'.split(
    ' ',
  );

/**
 * Creates a vocabulary with word frequencies as in natural texts: the second most frequent word occurs half as often as
 * the first, and so on.
 */
export function createVocabulary(size: number) {
  const words = Array.from({ length: size }, (_, i) => wordOf(i));
  const most = Math.log(size);
  return {
    word: (random: () => number): string => words[Math.floor(Math.exp(random() * most)) - 1] as string,
    /** Returns a random word whose frequency rank is between two numbers. */
    between: (random: () => number, from: number, to: number): string =>
      words[from + Math.floor(random() * (to - from))] as string,
  };
}

function wordOf(number: number): string {
  let rest = number + SYLLABLES.length;
  let word = '';
  while (rest > 0) {
    word += SYLLABLES[rest % SYLLABLES.length];
    rest = Math.floor(rest / SYLLABLES.length);
  }
  return word;
}

export const WORKSPACE = 'workspace';
const BOUNDARIES = 10;
/** Number of words in a passage. */
const PASSAGE_WORDS = 150;

type Vocabulary = ReturnType<typeof createVocabulary>;

/** Creates a document of some passages in one of ten boundaries. A caller may read one of the boundaries. */
export function documentOf(number: number, passages: number, vocabulary: Vocabulary, random: () => number): IndexEntry {
  const words = (count: number) => Array.from({ length: count }, () => vocabulary.word(random)).join(' ');
  const at = new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString();
  return Entry.fromPartial({
    id: `document-${number}`,
    tenant: 'org',
    workspaceId: WORKSPACE,
    boundaryId: `boundary-${number % BOUNDARIES}`,
    type: ResourceType.DOCUMENT,
    name: words(4),
    text: Array.from({ length: passages }, () => words(PASSAGE_WORDS)).join('\n\n'),
    metadataJson: '{}',
    createdAt: at,
    updatedAt: at,
    version: 1,
    contentVersion: 1,
  });
}

/** Returns a vector of unit length in a random direction. */
export function direction(dimensions: number, random: () => number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => {
    const radius = Math.sqrt(-2 * Math.log(random() || 1e-9));
    return radius * Math.cos(2 * Math.PI * random());
  });
  const length = Math.hypot(...vector);
  return vector.map((number) => number / length);
}
