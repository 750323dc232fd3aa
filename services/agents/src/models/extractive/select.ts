import type { Breathe } from '@commonplace/kit/slices';
import type { Passage } from '../port.js';
import { blocksOf, sentencesOf } from './sentences.js';
import { type QuestionTerms, questionTerms } from './terms.js';

/** A quoted sentence. */
export interface Quote {
  readonly passage: Passage;
  readonly text: string;
}

interface Selection {
  /** The quotes in the order of passages and their sentences. */
  readonly quotes: readonly Quote[];
  /** Whether the quotes contain words of the question; otherwise they are the beginnings of passages close to it. */
  readonly isMatch: boolean;
}

/** A sentence that contains terms of the question. */
interface Candidate extends Quote {
  /** The position of the passage, and of the sentence in it. */
  readonly rank: number;
  readonly at: number;
  /** For each word the number of the question's term, or -1. */
  readonly words: readonly number[];
  /** The terms in the previous sentence, the heading and the source's name. */
  readonly around: ReadonlySet<number>;
}

type ScoredCandidate = Candidate & { readonly score: number };

/** Statistics of all sentences, which the scores depend on. */
interface Statistics {
  sentences: number;
  words: number;
  /** Number of sentences that contain each term. */
  readonly having: number[];
}

const MAX_QUOTES = 6;
const MAX_OF_PASSAGE = 3;
/** Maximum number of candidates that are compared with each other. */
const MAX_RANKED = 60;
/** Maximum number of passages whose beginning is quoted if no sentence contains a word of the question. */
const MAX_BEGINNINGS = 2;
/** Minimum score of a quoted sentence, as a share of the best score. */
const MIN_SCORE_SHARE = 0.55;
/** Minimum share of the question's weight that a sentence with its surroundings has to cover. */
const MIN_COVERAGE = 0.4;
const MIN_WORDS = 4;
/** Constants of BM25; B is lower than usual because sentences differ less in length than documents. */
const [K1, B] = [1.2, 0.4];
/** Weight of a term in the surroundings of a sentence, relative to one in it. */
const AROUND = 0.4;
/** Bonus for two neighbouring words of the question that are neighbours in the sentence. */
const ADJACENT = 0.3;
/** Bonus of the first passage, which decreases with the rank. */
const FIRST = 0.25;
/** Bonus for a number if the question asks for one. */
const NUMBER = 0.25;
const ASKS_NUMBER =
  /\b(?:how (?:many|much|long|often|old|far|early|late|soon|large|big)|when|what (?:time|date|year|percentage))\b/i;
/** Minimum share of common words of two sentences that count as the same. */
const SAME = 0.7;
/** Average characters of a sentence and of a word, for estimating text that is not analysed. */
const [SENTENCE_CHARS, WORD_CHARS] = [120, 6];
const NONE: readonly number[] = [];

/** Selects the sentences that answer a question best. Passages are given best first. */
export async function selectQuotes(
  question: string,
  passages: readonly Passage[],
  breathe: Breathe,
): Promise<Selection> {
  const terms = questionTerms(question);
  const statistics: Statistics = { sentences: 0, words: 0, having: terms.terms.map(() => 0) };
  const candidates: Candidate[] = [];
  for (const [rank, passage] of passages.entries()) {
    for (const candidate of candidatesOf(passage, rank, terms, statistics)) {
      if (candidate !== undefined) candidates.push(candidate);
      await breathe();
    }
  }
  const chosen = choose(await best(candidates, createScore(statistics, ASKS_NUMBER.test(question)), breathe));
  if (chosen.length > 0) return { quotes: chosen.sort((a, b) => a.rank - b.rank || a.at - b.at), isMatch: true };
  return { quotes: beginnings(passages), isMatch: false };
}

/** Yields the sentences that contain terms, and undefined after other pieces of work, so that the caller can pause. */
function* candidatesOf(
  passage: Passage,
  rank: number,
  terms: QuestionTerms,
  statistics: Statistics,
): Generator<Candidate | undefined> {
  const named = terms.find(passage.name);
  let heading = NONE;
  let before = NONE;
  let at = 0;
  for (const { text: block, isHeading } of blocksOf(passage.text)) {
    if (isHeading) {
      heading = terms.find(block);
      before = NONE;
    } else if (!terms.mayOccur(block)) {
      statistics.sentences += Math.ceil(block.length / SENTENCE_CHARS);
      statistics.words += block.length / WORD_CHARS;
      before = NONE;
    } else {
      for (const text of sentencesOf(block)) {
        const words = terms.find(text);
        count(words, statistics);
        const around = new Set([...named, ...heading, ...before].filter((term) => term >= 0));
        before = words;
        yield words.some((term) => term >= 0) ? { passage, text, rank, at: at++, words, around } : undefined;
      }
    }
    yield undefined;
  }
}

function count(words: readonly number[], statistics: Statistics): void {
  statistics.sentences++;
  statistics.words += words.length;
  for (const term of new Set(words)) if (term >= 0) statistics.having[term] = (statistics.having[term] ?? 0) + 1;
}

/** Creates the function that scores a sentence by BM25 and its surroundings. A score of 0 means no answer. */
function createScore({ sentences, words: all, having }: Statistics, asksNumber: boolean) {
  const rarities = having.map((count) => 1 + Math.log(1 + (sentences - count + 0.5) / (count + 0.5)) / 2);
  const known = rarities.filter((_, term) => (having[term] ?? 0) > 0);
  const mean = known.reduce((sum, weight) => sum + weight, 0) / Math.max(1, known.length);
  // A term that occurs nowhere gets the mean weight, since its rarity is unknown.
  const weights = rarities.map((weight, term) => ((having[term] ?? 0) > 0 ? weight : mean));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const meanLength = all / Math.max(1, sentences);

  return ({ words, around, text, rank }: Candidate): number => {
    if (words.length < MIN_WORDS) return 0;
    const damping = K1 * (1 - B + (B * words.length) / meanLength);
    let score = 0;
    let covered = 0;
    for (const [term, weight] of weights.entries()) {
      const frequency = words.filter((word) => word === term).length;
      if (frequency > 0) score += (weight * frequency * (K1 + 1)) / (frequency + damping);
      else if (around.has(term)) score += AROUND * weight;
      covered += frequency > 0 ? weight : around.has(term) ? AROUND * weight : 0;
    }
    if (covered < MIN_COVERAGE * total) return 0;
    for (const [i, term] of words.entries()) {
      if (term > 0 && words[i - 1] === term - 1) score += ADJACENT * (weights[term] as number);
    }
    if (asksNumber && /\p{N}/u.test(text)) score += NUMBER * total;
    // A question in a document is rarely an answer.
    return (/\?\s*$/.test(text) ? score / 2 : score) + (FIRST * total) / (1 + rank);
  };
}

/** Returns the candidates with the best scores, best first. */
async function best(
  candidates: readonly Candidate[],
  score: (candidate: Candidate) => number,
  breathe: Breathe,
): Promise<ScoredCandidate[]> {
  const ranked: ScoredCandidate[] = [];
  const keepBest = (): void => {
    ranked.sort((a, b) => b.score - a.score).splice(MAX_RANKED);
  };
  for (const candidate of candidates) {
    const scored = { ...candidate, score: score(candidate) };
    if (scored.score > 0) ranked.push(scored);
    if (ranked.length > 2 * MAX_RANKED) keepBest();
    await breathe();
  }
  keepBest();
  return ranked;
}

/** Chooses sentences that differ from each other, best first. */
function choose(ranked: readonly ScoredCandidate[]): ScoredCandidate[] {
  const chosen: ScoredCandidate[] = [];
  const minScore = MIN_SCORE_SHARE * (ranked[0]?.score ?? 0);
  for (const candidate of ranked) {
    if (chosen.length === MAX_QUOTES || candidate.score < minScore) break;
    const ofPassage = chosen.filter(({ rank }) => rank === candidate.rank).length;
    if (ofPassage < MAX_OF_PASSAGE && !chosen.some(({ text }) => isSame(text, candidate.text))) chosen.push(candidate);
  }
  return chosen;
}

/** Returns the first sentence of the passages that are close to the question. */
function beginnings(passages: readonly Passage[]): Quote[] {
  const close = passages.filter(({ isClose }) => isClose).slice(0, MAX_BEGINNINGS);
  return close.flatMap((passage) => {
    const sentences = blocksOf(passage.text).flatMap(({ text, isHeading }) => (isHeading ? [] : sentencesOf(text)));
    const text = sentences.find((sentence) => sentence.split(/\s+/).length >= MIN_WORDS) ?? sentences[0];
    return text === undefined ? [] : [{ passage, text }];
  });
}

function isSame(a: string, b: string): boolean {
  const words = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  const [these, those] = [words(a), words(b)];
  const common = [...these].filter((word) => those.has(word)).length;
  return common >= SAME * Math.min(these.size, those.size);
}
