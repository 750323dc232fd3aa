import type { VNode } from 'preact';
import { markdownHtml } from '../../page/markdown.js';

/** Returns whether the source of a presentation is HTML, which a frame shows; otherwise it is Markdown. */
export const isHtml = (source: string): boolean => /^\s*<(?:[a-z!?]|$)/i.test(source);

const FENCE = /^ {0,3}(?:`{3,}|~{3,})/;
const SEPARATOR = /^ {0,3}-{3,}[ \t]*$/;

/**
 * Splits the Markdown of a presentation into slides, between which a line of `---` stands behind an empty line; behind
 * text it is a heading's underline. Front matter is left out.
 */
export function slidesOf(source: string): string[] {
  const lines = withoutFrontMatter(source).split(/\r?\n/);
  const slides: string[][] = [[]];
  let isCode = false;
  for (const [at, line] of lines.entries()) {
    if (FENCE.test(line)) isCode = !isCode;
    const isBetween = !isCode && SEPARATOR.test(line) && (lines[at - 1] ?? '').trim() === '';
    if (isBetween) slides.push([]);
    else slides.at(-1)?.push(line);
  }
  return slides.map((slide) => slide.join('\n').trim()).filter((slide) => slide !== '');
}

const FRONT_MATTER = /^---[ \t]*\r?\n[\w-]+:[\s\S]{0,16000}?\n---[ \t]*(?:\r?\n|$)/;
const withoutFrontMatter = (source: string): string => source.replace(FRONT_MATTER, '');

/** Renders a presentation slide by slide, as a page that is scrolled and printed. HTML within it is escaped. */
export function Slides({ source }: { readonly source: string }): VNode {
  const slides = slidesOf(source);
  return (
    <>
      {slides.map((slide, at) => (
        <section class="slide prose" dir="auto" key={at} aria-label={`${at + 1} / ${slides.length}`}>
          <div dangerouslySetInnerHTML={{ __html: markdownHtml(slide) }} />
        </section>
      ))}
    </>
  );
}
