import { decode } from '../charset.js';
import { createCollector } from './collector.js';
import type { ReadText } from './read-text.js';

/** Extracts a plain text, decoded from its charset. */
export const readPlain: ReadText = (file, { maxChars }) => {
  const out = createCollector(maxChars);
  out.add(decode(file));
  return out.end();
};
