import { describe, expect, test } from '@jest/globals';
import { bodyOf, NoSkillMd, readSkillMd } from '../src/domain/skill-md.js';

const file = (front: string, body = '# Body\n') => `---\n${front}\n---\n${body}`;

describe('a SKILL.md', () => {
  test('consists of front matter and Markdown', () => {
    const text = file('name: notes\ndescription: "Writes: notes."\nlicense: MIT\nallowed-tools: [search, read]');
    expect(readSkillMd(text)).toEqual({
      ...{ name: 'notes', description: 'Writes: notes.', license: 'MIT', allowedTools: ['search', 'read'] },
      ...{ metadata: {}, content: '# Body' },
    });
  });

  test('may have a byte order mark, Windows line ends and tools in one text', () => {
    const text = `\uFEFF${file('name: notes\nallowed-tools: search, read  table').replaceAll('\n', '\r\n')}`;
    expect(readSkillMd(text)).toMatchObject({ name: 'notes', allowedTools: ['search', 'read', 'table'] });
  });

  test('keeps lines of hyphens in its body', () => {
    expect(readSkillMd(file('name: x', 'One\n\n---\n\nTwo')).content).toBe('One\n\n---\n\nTwo');
  });

  test.each([
    ['no front matter', '# Body'],
    ['front matter without an end', '---\nname: x\n'],
    ['a list', file('- name')],
    ['a key twice', file('name: x\nname: y')],
    ['a tag of its own', file('name: !secret x')],
    ['a tag of the language', file('name: !!js/function "x"')],
    ['an alias', file('name: &a x\ndescription: *a')],
    ['a name that is no text', file('name: [x]')],
    ['metadata that is no map', file('metadata: x')],
    ['too much of it', file(`name: ${'x'.repeat(20_000)}`)],
  ])('is refused with %s', (_, text) => {
    expect(() => readSkillMd(text)).toThrow(NoSkillMd);
  });

  test.each([
    ['aliases of aliases', `a: &a [x]\n${Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*a, *a]`).join('\n')}`],
    ['brackets', '['.repeat(16_000)],
    ['braces and keys', '{a: '.repeat(4_000)],
    ['hyphens', `- `.repeat(8_000)],
  ])('is refused quickly with many %s', (_, front) => {
    expect(() => readSkillMd(file(front))).toThrow(NoSkillMd);
  });

  test('sets no prototype', () => {
    const { metadata } = readSkillMd(file('metadata:\n  __proto__:\n    polluted: true'));
    expect([({} as { polluted?: boolean }).polluted, (metadata as { polluted?: boolean }).polluted]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('is only its body once the front matter is removed', () => {
    expect([bodyOf(file('name: x', '\nText')), bodyOf('Text\n---\n')]).toEqual(['Text', 'Text\n---\n']);
  });
});
