/** Porter's second stemming algorithm for English; takes lower-case words. */
declare module 'wink-porter2-stemmer' {
  export default function stem(word: string): string;
}
