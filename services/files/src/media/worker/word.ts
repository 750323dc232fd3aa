import mammoth from 'mammoth';
import { checkArchive } from './archive.js';
import { createCollector } from './collector.js';
import type { ReadText } from './read-text.js';

/** Extracts the text of a Word document: paragraphs, tables and lists, without tracked deletions. */
export const readWord: ReadText = async (file, limits) => {
  await checkArchive(file, limits);
  const { value } = await mammoth.extractRawText({ buffer: file });
  const out = createCollector(limits.maxChars);
  out.add(value);
  return out.end();
};
