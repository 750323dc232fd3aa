/** Holds text that was extracted from a file, and the offset of each of its pages in UTF-16 units. */
interface PagedText {
  readonly text: string;
  readonly pageStarts?: readonly number[] | undefined;
}

/** Describes a place in a text: an offset in UTF-16 units, and the first characters of the text there. */
interface TextPlace {
  readonly offset: number;
  readonly text: string;
}

/** Returns the page that contains a place, counted from 1; 0 when pages are unknown or the text is not found. */
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
