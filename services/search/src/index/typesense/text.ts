import { MOST_TEXT } from '../port.js';

/** Halves of characters that stand alone: JSON may not have them for every reader. */
const LONE_HALVES = /\p{Surrogate}/gu;

/** A text as it is kept. Offsets in it are those of the text that was given. */
export function storedText(text: string): string {
  return withoutNul(text.slice(0, MOST_TEXT)).replace(LONE_HALVES, '\ufffd');
}

export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', ' ') : text;
}
