/** A place in a text: an offset in UTF-16 units, and the first characters of the text there. */
export interface TextPlace {
  readonly offset: number;
  readonly text: string;
}
