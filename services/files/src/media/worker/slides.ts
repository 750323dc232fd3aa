import { Parser } from 'htmlparser2';
import { decode } from '../charset.js';
import { type Archive, openArchive } from './archive.js';
import { createCollector } from './collector.js';
import { addMarkup, type MarkupRules } from './markup-text.js';
import type { ReadText } from './text.js';

const SLIDE = /^ppt\/slides\/slide(\d+)\.xml$/;
const NOTES = /^ppt\/notesSlides\//;
const PRESENTATION = 'ppt/presentation.xml';

const DRAWING: MarkupRules = {
  xml: true,
  // The other form of what a newer program shows in the first.
  unseen: (name) => name === 'mc:Fallback',
  within: 'a:t',
  closed: (name) => (name === 'a:p' || name === 'a:br' ? '\n' : name === 'a:tc' ? '\t' : ''),
};

type Attributes = Readonly<Record<string, string>>;

/** The attributes of the elements of a name in a part; none where there is no such part. */
async function attributesOf(archive: Archive, part: string, element: string): Promise<Attributes[]> {
  const xml = await archive.read(part);
  const found: Attributes[] = [];
  if (xml === undefined) return found;
  const onopentag = (name: string, attributes: Attributes): void => {
    if (name.replace(/^.*:/, '') === element) found.push(attributes);
  };
  new Parser({ onopentag }, { xmlMode: true }).end(decode(xml));
  return found;
}

/** The parts that a part names, by the ids it has for them. */
async function relationsOf(archive: Archive, part: string): Promise<Map<string, string>> {
  const at = part.lastIndexOf('/') + 1;
  const relations = `${part.slice(0, at)}_rels/${part.slice(at)}.rels`;
  const found = await attributesOf(archive, relations, 'Relationship');
  return new Map(found.map(({ Id = '', Target = '' }) => [Id, resolve(Target, part)]));
}

function resolve(target: string, from: string): string {
  return URL.canParse(target, `x://x/${from}`) ? new URL(target, `x://x/${from}`).pathname.slice(1) : target;
}

/** The slides as they are shown one after the other; by their numbers where the presentation does not say. */
async function slidesOf(archive: Archive): Promise<string[]> {
  const relations = await relationsOf(archive, PRESENTATION);
  const shown = await attributesOf(archive, PRESENTATION, 'sldId');
  const names = new Set(archive.names);
  const slides = shown
    .map((attributes) => relations.get(attributes['r:id'] ?? '') ?? '')
    .filter((one) => names.has(one));
  if (slides.length > 0) return slides;
  const numbers = archive.names.flatMap((name) => SLIDE.exec(name)?.[1] ?? []).map(Number);
  return numbers.sort((a, b) => a - b).map((number) => `ppt/slides/slide${number}.xml`);
}

/** The text of a presentation: each slide, then its notes. */
export const readSlides: ReadText = async (file, limits) => {
  const archive = await openArchive(file, limits);
  const slides = await slidesOf(archive);
  const out = createCollector(limits.maxChars);
  for (const slide of slides.slice(0, limits.maxPages)) {
    const beside = out.isFull ? [] : [...(await relationsOf(archive, slide)).values()];
    for (const part of [slide, ...beside.filter((name) => NOTES.test(name))]) {
      const xml = out.isFull ? undefined : await archive.read(part);
      if (xml !== undefined) addMarkup(decode(xml), out, DRAWING);
    }
    out.endPage();
  }
  return { ...out.end(slides.length > limits.maxPages), pages: slides.length };
};
