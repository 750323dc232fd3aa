import porter2 from 'wink-porter2-stemmer';

const ENGLISH = /^[a-z]{3,}$/;
const KEPT = 200_000;
const stems = new Map<string, string>();

/**
 * Returns the stem of a folded word, by Porter's second algorithm; words with other than the letters a to z are their
 * own stem.
 */
export function stemOf(word: string): string {
  let stem = stems.get(word);
  if (stem === undefined) {
    stem = ENGLISH.test(word) ? porter2(word) : word;
    if (stems.size >= KEPT) stems.clear();
    stems.set(word, stem);
  }
  return stem;
}

/**
 * Words that carry no meaning in a query unless it consists of nothing else: Snowball's list for English without
 * particles, which belong to verbs and nouns as in _sign up_ and _time off_.
 */
const STOP_WORDS = new Set(
  (
    'a about after again against all am an and any are arent as at be because been before being between both but by ' +
    'can cannot cant could couldnt did didnt do does doesnt doing dont during each few for from further had hadnt has ' +
    'hasnt have havent having he her here hers herself him himself his how i if im in into is isnt it its itself ive me ' +
    'more most mustnt my myself no nor not of on once only or other ought our ours ourselves own same she should ' +
    'shouldnt so some such than that thats the their theirs them themselves then there these they theyre theyve this ' +
    'those through to too until very was wasnt we were werent weve what whats when where which while who whom why will ' +
    'with wont would wouldnt you your youre yours yourself yourselves youve'
  ).split(' '),
);

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

const PARTICLES = new Set(['down', 'off', 'out', 'over', 'under', 'up']);

/** Returns whether a word is a particle, which says little about a text among many other words. */
export function isParticle(word: string): boolean {
  return PARTICLES.has(word);
}
