/** A text that was read out of a file, and where each of its pages begins in it, in UTF-16 units. */
export interface PagedText {
  readonly text: string;
  readonly pageStarts?: readonly number[] | undefined;
}

/** A place in a text: an offset in UTF-16 units, and the first characters of what stands there. */
export interface TextPlace {
  readonly offset: number;
  readonly text: string;
}

/** The page that a place is on, counted from 1; 0 where pages are not known, or what should stand there does not. */
export function pageAt({ text, pageStarts = [] }: PagedText, place: TextPlace): number {
  if (place.text === '' || pageStarts.length === 0) return 0;
  const offset = text.startsWith(place.text, place.offset) ? place.offset : text.indexOf(place.text);
  if (offset < 0) return 0;
  let below = 0;
  let above = pageStarts.length;
  while (below < above) {
    const middle = (below + above) >> 1;
    if ((pageStarts[middle] as number) <= offset) below = middle + 1;
    else above = middle;
  }
  return below;
}
