import { MAX_TEXT_CHARS } from '../port.js';

/** Lone surrogates, which not every reader of JSON accepts. */
const LONE_HALVES = /\p{Surrogate}/gu;

/** Returns a text as it is stored; offsets stay the same. */
export function storedText(text: string): string {
  return withoutNul(text.slice(0, MAX_TEXT_CHARS)).replace(LONE_HALVES, '\ufffd');
}

export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', ' ') : text;
}
