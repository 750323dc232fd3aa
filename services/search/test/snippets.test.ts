import { fold } from '@commonplace/kit/analysis';
import { expect, test } from '@jest/globals';
import { snippetOf } from '../src/domain/highlight.js';
import { findMatches } from '../src/domain/match.js';

/** Returns the snippet of a Markdown text for a word, and what its ranges mark. */
function snippet(text: string, word = '', isMarkdown = true) {
  const folded = fold(text);
  const matches = word === '' ? [] : findMatches(folded.text, [[{ terms: [word], prefix: false }]]);
  const { text: shown, ranges } = snippetOf(text, folded, matches, { isMarkdown });
  const points = [...shown];
  return { shown, marked: ranges.map(([start, end]) => points.slice(start, end).join('')) };
}

test.each([
  ['# Plan\n\nHello **world**', 'Plan Hello world'],
  ['Use `a * b`, _not_ __this__ ~~that~~ or snake_case_name', 'Use a * b, not this that or snake_case_name'],
  ['See [the *plan*](resource:6ff5a88d) and ![a cat](resource:6ff5 "Cat")', 'See the plan and a cat'],
  [
    'Ask @[Ada](user:6ff5a88d) on [[Some page]] or <https://example.com/a>',
    'Ask @Ada on Some page or https://example.com/a',
  ],
  ['- one\n* two\n  - [ ] three\n1. four', 'one two three 1. four'],
  ['> [!NOTE]\n> Mind the gap', 'Mind the gap'],
  ['| Name | Age |\n|:-----|----:|\n| Ada  | 36  |', 'Name · Age Ada · 36'],
  [':::callout{id=b1}\nText\n:::', 'Text'],
  ['Text\n\n```js\n# not a **heading** | at all\n```\n\n# End', 'Text # not a **heading** | at all End'],
  ['---\ntitle: x\ntags: [a]\n---\n\n# Body', 'Body'],
  ['---\nHello there\n---\nText', 'Hello there Text'],
  ['2 * 3 * 4, 3 < 4 and 5 > 4, 1\\. and \\*', '2 * 3 * 4, 3 < 4 and 5 > 4, 1. and *'],
  ['H<sub>2</sub>O <!-- hidden --> here', 'H2O here'],
])('of Markdown leave out what only formats: %j', (text, shown) => {
  expect(snippet(text)).toEqual({ shown, marked: [] });
});

test('show what formats if it matches, and count ranges in what is shown', () => {
  expect(snippet('**One** *two* [three](https://example.com/four)', 'three')).toEqual({
    shown: 'One two three',
    marked: ['three'],
  });
  expect(snippet('A [link](https://example.com/four) here', 'four')).toEqual({
    shown: 'A link](https://example.com/four) here',
    marked: ['four'],
  });
  expect(snippet('---\ntitle: word\n---\nText', 'word').marked).toEqual(['word']);
});

test('show as much of a text as without its markup', () => {
  const link = '[here](https://example.com/a/long/address/that/nobody/reads/in/a/snippet) ';
  const { shown, marked } = snippet(`${'before '.repeat(100)}${link.repeat(10)}word ${link.repeat(30)}`, 'word');
  expect(marked).toEqual(['word']);
  expect(shown).toMatch(/^…before (here )+word (here )+here…$/);
  expect(shown.length).toBeGreaterThan(100);
});

test('keep code that begins long before', () => {
  const code = `Text\n\n\`\`\`\n${'x y z\n'.repeat(2000)}# word **b**\n${'x y z\n'.repeat(2000)}\`\`\`\n`;
  expect(snippet(code, 'word').shown).toContain('z # word **b** x');
  expect(snippet(`${code}# pin **b**\n`, 'pin').shown).toMatch(/ z pin b$/);
});

test('of other texts show everything', () => {
  expect(snippet('# a | b **c**', '', false).shown).toBe('# a | b **c**');
});
