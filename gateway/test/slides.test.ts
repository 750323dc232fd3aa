import { readerPage } from '@commonplace/site/reader';
import { expect, test } from '@jest/globals';
import { pageAt } from './pages/fixture.js';

/** Returns the page of a presentation. */
function presentation(source: string): string {
  const page = pageAt('dial');
  if (page?.artifact === undefined) throw new Error('The fixture has no artifact.');
  const artifact = { ...page.artifact, artifactType: 'slides', language: '', source };
  return readerPage({ ...page, artifact }, { src: '/p/handbook/dial?frame=1', scripts: false });
}

const slidesIn = (html: string) =>
  [...html.matchAll(/<section class="slide[^>]*>(.*?)<\/section>/gs)].map(([, slide = '']) =>
    slide.replace(/<[^>]*>/g, '').trim(),
  );

test('a presentation in Markdown is shown slide by slide', () => {
  const source = [
    '---\nmarp: true\ntags:\n- a\n---\n',
    '# First\n\n- one\n- **two**',
    '---\n\nSecond\n---\n\n```yaml\n\n---\nkey: value\n```',
    '---\n\n<script>alert(1)</script>\n',
  ].join('\n\n');
  const html = presentation(source);
  expect(slidesIn(html).map((text) => text.replace(/\s+/g, ' '))).toEqual([
    'First one two',
    'Second --- key: value',
    '&lt;script&gt;alert(1)&lt;/script&gt;',
  ]);
  expect(html).toMatch(/<h1[^>]*>First<\/h1>/);
  expect(html).toMatch(/<h2[^>]*>Second<\/h2>/);
  expect(html).toContain('<strong>two</strong>');
  expect(html).not.toContain('<iframe');
});

test('a presentation in HTML is shown in a frame', () => {
  const html = presentation('\n<!doctype html><section>One</section>');
  expect(html).toContain('<iframe');
  expect(slidesIn(html)).toEqual([]);
});
