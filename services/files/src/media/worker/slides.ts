import { Parser } from 'htmlparser2';
import { decode } from '../charset.js';
import { type Archive, openArchive } from './archive.js';
import { createCollector } from './collector.js';
import { addMarkup, type MarkupRules } from './markup-text.js';
import { bounded } from './nesting.js';
import type { ReadText } from './read-text.js';

const SLIDE = /^ppt\/slides\/slide(\d+)\.xml$/;
const NOTES = /^ppt\/notesSlides\//;
const PRESENTATION = 'ppt/presentation.xml';

const DRAWING: MarkupRules = {
  xml: true,
  // Alternative for older programs to content that newer ones show.
  unseen: (name) => name === 'mc:Fallback',
  within: 'a:t',
  closed: (name) => (name === 'a:p' || name === 'a:br' ? '\n' : name === 'a:tc' ? '\t' : ''),
};

type Attributes = Readonly<Record<string, string>>;

/** Returns the attributes of all elements with a name in a part; none when the part does not exist. */
async function attributesOf(archive: Archive, part: string, element: string): Promise<Attributes[]> {
  const xml = await archive.read(part);
  const found: Attributes[] = [];
  if (xml === undefined) return found;
  const onopentag = (name: string, attributes: Attributes): void => {
    if (name.replace(/^.*:/, '') === element) found.push(attributes);
  };
  new Parser(bounded({ onopentag }), { xmlMode: true }).end(decode(xml));
  return found;
}

/** Returns the parts that a part refers to, by relation id. */
async function relationsOf(archive: Archive, part: string): Promise<Map<string, string>> {
  const at = part.lastIndexOf('/') + 1;
  const relations = `${part.slice(0, at)}_rels/${part.slice(at)}.rels`;
  const found = await attributesOf(archive, relations, 'Relationship');
  return new Map(found.map(({ Id = '', Target = '' }) => [Id, resolve(Target, part)]));
}

function resolve(target: string, from: string): string {
  return URL.canParse(target, `x://x/${from}`) ? new URL(target, `x://x/${from}`).pathname.slice(1) : target;
}

/** Returns the slides in presentation order, or by number when the presentation lists none. */
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

/** Extracts the text of a presentation: each slide, followed by its notes. */
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
