import { decode } from '../charset.js';
import { createCollector } from './collector.js';
import type { ReadText } from './text.js';

/** The text as it is written, in its charset. */
export const readPlain: ReadText = (file, { maxChars }) => {
  const out = createCollector(maxChars);
  out.add(decode(file));
  return out.end();
};
