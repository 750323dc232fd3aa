import mammoth from 'mammoth';
import { checkArchive } from './archive.js';
import { createCollector } from './collector.js';
import type { ReadText } from './text.js';

/** The text of a Word document: its paragraphs, tables and lists; what was deleted with changes tracked is left out. */
export const readWord: ReadText = async (file, limits) => {
  await checkArchive(file, limits);
  const { value } = await mammoth.extractRawText({ buffer: file });
  const out = createCollector(limits.maxChars);
  out.add(value);
  return out.end();
};
