import { decode } from '../charset.js';
import { openArchive } from './archive.js';
import { createCollector } from './collector.js';
import { addMarkup, type MarkupRules } from './markup-text.js';
import type { ReadText } from './text.js';

const SLIDE = /^ppt\/slides\/slide(\d+)\.xml$/;

const DRAWING: MarkupRules = {
  xml: true,
  // The other form of what a newer program shows in the first.
  unseen: (name) => name === 'mc:Fallback',
  within: 'a:t',
  closed: (name) => (name === 'a:p' || name === 'a:br' ? '\n' : name === 'a:tc' ? '\t' : ''),
};

/** The numbers of the slides, in order. */
function slidesOf(names: readonly string[]): number[] {
  const numbers = names.flatMap((name) => SLIDE.exec(name)?.[1] ?? []).map(Number);
  return numbers.sort((a, b) => a - b);
}

/** The text of a presentation: each slide, then its notes. */
export const readSlides: ReadText = async (file, limits) => {
  const archive = await openArchive(file, limits);
  const slides = slidesOf(archive.names);
  const out = createCollector(limits.maxChars);
  for (const number of slides.slice(0, limits.maxPages)) {
    for (const part of [`ppt/slides/slide${number}.xml`, `ppt/notesSlides/notesSlide${number}.xml`]) {
      const xml = out.isFull ? undefined : await archive.read(part);
      if (xml !== undefined) addMarkup(decode(xml), out, DRAWING);
    }
    out.add('\n');
  }
  return { ...out.end(slides.length > limits.maxPages), pages: slides.length };
};
