import { analyse } from '@commonplace/kit/analysis';
import type { Query, Text } from './collection.js';

/** Ranks documents for a query. Returns their ids, best first. */
export type Ranker = (query: Query) => readonly string[];

const [K1, B] = [1.2, 0.75];

/** English stop words of Snowball without apostrophes. */
const STOP_WORDS = new Set(
  (
    'i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it ' +
    'its itself they them their theirs themselves what which who whom this that these those am is are was were be been ' +
    'being have has had having do does did doing would should could ought im youre hes shes theyre ive youve weve ' +
    'theyve id youd hed shed wed theyd ill youll hell shell well theyll isnt arent wasnt werent hasnt havent hadnt ' +
    'doesnt dont didnt wont wouldnt shant shouldnt cant cannot couldnt mustnt lets thats whos whats heres theres whens ' +
    'wheres whys hows a an the and but if or because as until while of at by for with about against between into through ' +
    'during before after above below to from up down in out on off over under again further then once here there when ' +
    'where why how all any both each few more most other some such no nor not only own same so than too very'
  ).split(' '),
);

const STOP_STEMS = new Set([...STOP_WORDS].map((word) => analyse(word).terms));

function termsOf(text: string, stops: boolean): string[] {
  const terms = analyse(text).terms.split(' ').filter(Boolean);
  return stops ? terms.filter((term) => !STOP_STEMS.has(term)) : terms;
}

/**
 * Creates plain BM25 with Lucene's inverse document frequency, over Porter2 stems of name and text together. A repeated
 * query word counts repeatedly. `stops` removes stop words from queries.
 */
export function createBm25(documents: readonly Text[], stops: boolean): Ranker {
  const postings = new Map<string, Map<number, number>>();
  const lengths = documents.map(({ title, text }, i) => {
    const terms = termsOf(`${title} ${text}`, false);
    for (const term of terms) {
      const list = postings.get(term) ?? new Map<number, number>();
      postings.set(term, list.set(i, (list.get(i) ?? 0) + 1));
    }
    return terms.length;
  });
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  return ({ text }) => {
    const scores = new Map<number, number>();
    for (const term of termsOf(text, stops)) {
      const list = postings.get(term) ?? new Map<number, number>();
      const rarity = Math.log(1 + (documents.length - list.size + 0.5) / (list.size + 0.5));
      for (const [i, frequency] of list) {
        const against = K1 * (1 - B + (B * (lengths[i] as number)) / mean);
        scores.set(i, (scores.get(i) ?? 0) + (rarity * frequency * (K1 + 1)) / (frequency + against));
      }
    }
    return best(documents, scores);
  };
}

/** Number of documents of a ranking that are fused. */
const DEPTH = 1000;

export function best(documents: readonly Text[], scores: ReadonlyMap<number, number>): string[] {
  const ranked = [...scores].sort(([i, a], [j, b]) => b - a || i - j).slice(0, DEPTH);
  return ranked.map(([i]) => (documents[i] as Text).id);
}
