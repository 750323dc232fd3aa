/** `traditional simplified` pairs of single characters, separated by `|`. */
declare module 'opencc-js/dict/TSCharacters' {
  const pairs: string;
  export default pairs;
}

/** Porter's second stemming algorithm for English; takes lower-case words. */
declare module 'wink-porter2-stemmer' {
  export default function stem(word: string): string;
}
