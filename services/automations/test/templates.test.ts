import { describe, expect, test } from '@jest/globals';
import { parsePath } from '../src/domain/path.js';
import {
  MAX_DEPTH,
  parseTemplate,
  referencesOf,
  renderTemplates,
  type Scope,
  TemplateFault,
} from '../src/domain/templates.js';

const scope: Scope = {
  trigger: {
    row: { cells: { name: 'Ada', count: 3, done: false, empty: null, tags: ['a', 'b'], 'Full name': 'Ada L.' } },
    webhook: JSON.parse('{"body":{"__proto__":"own","constructor":"mine"}}'),
  },
  steps: { find: { output: { items: [{ id: 'r1' }, { id: 'r2' }], total: 2 } } },
};
const render = (config: unknown) => renderTemplates(config, scope);
const faultOf = (run: () => unknown): { code: string; at: string } | undefined => {
  try {
    run();
  } catch (error) {
    if (error instanceof TemplateFault) return { code: error.code, at: error.at };
    throw error;
  }
  return undefined;
};
const nested = (depth: number): unknown => Array.from({ length: depth }).reduce<unknown>((inner) => [inner], 'x');

describe('a template', () => {
  test('keeps the type of a value if it is the whole text', () => {
    const config = {
      count: '{{trigger.row.cells.count}}',
      done: '{{ trigger.row.cells.done }}',
      list: '{{trigger.row.cells.tags}}',
      none: '{{trigger.row.cells.empty}}',
      text: ' {{trigger.row.cells.count}}',
    };
    expect(render(config)).toEqual({ count: 3, done: false, list: ['a', 'b'], none: null, text: ' 3' });
  });

  test('is text inside a text: lists are JSON, null is empty', () => {
    const text = '{{trigger.row.cells.name}}/{{trigger.row.cells.tags}}/{{trigger.row.cells.empty}}/';
    expect(render(text)).toBe('Ada/["a","b"]//');
  });

  test('reads items, lengths and names of any kind', () => {
    expect(render('{{steps.find.output.items[1].id}}')).toBe('r2');
    expect(render('{{steps.find.output.items.0.id}}')).toBe('r1');
    expect(render('{{steps.find.output.items.length}}')).toBe(2);
    expect(render('{{trigger.row.cells["Full name"]}}')).toBe('Ada L.');
  });

  test.each([
    ['"none"', 'none'],
    ['5', 5],
    ['null', null],
    ['{"a":{"b":"}}"}}', { a: { b: '}}' } }],
    ['[1, [2]] ', [1, [2]]],
    ['"{{trigger.row}}"', '{{trigger.row}}'],
  ])('uses the default %s for what is missing or null', (json, value) => {
    expect(render(`{{trigger.nothing | default: ${json}}}`)).toEqual(value);
    expect(render(`{{trigger.row.cells.empty|default:${json}}}`)).toEqual(value);
    expect(render(`{{trigger.row.cells.count | default: ${json}}}`)).toBe(3);
  });

  test('is filled in once: the result is never parsed as a template again', () => {
    const hostile = { trigger: { a: '{{trigger.b}}', b: '{{secrets.KEY}}' }, secrets: { KEY: 'secret' } };
    expect(renderTemplates({ x: '{{trigger.a}}', y: '<{{trigger.a}}{{trigger.b}}>' }, hostile)).toEqual({
      x: '{{trigger.b}}',
      y: '<{{trigger.b}}{{secrets.KEY}}>',
    });
    expect(renderTemplates('{{"{{"}}{{trigger.a}}', { trigger: { a: 'secrets.KEY}}' } })).toBe('{{secrets.KEY}}');
  });

  test('fails without value and default, and names its place', () => {
    expect(faultOf(() => render({ rows: [{ name: 'x' }, { name: '{{trigger.gone}}' }] }))).toEqual({
      code: 'template_unresolved',
      at: 'rows[1].name',
    });
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'row.__proto__', 'row.cells.name.length'])(
    'does not read properties that JavaScript adds: %s',
    (path) => {
      expect(faultOf(() => render(`{{trigger.${path}}}`))?.code).toBe('template_unresolved');
    },
  );

  test('treats data that looks like it as data', () => {
    expect(render('{{trigger.webhook.body.__proto__}}')).toBe('own');
    const config = JSON.parse('{"__proto__":{"polluted":"{{trigger.row.cells.count}}"}}');
    const rendered = render(config) as Record<string, unknown>;
    expect(Object.keys(rendered)).toEqual(['__proto__']);
    expect(rendered.polluted).toBeUndefined();
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('stays below the limit of bytes, before anything long is built', () => {
    const long = 'ä'.repeat(40_000);
    const big: Scope = { trigger: { long, list: Array.from({ length: 100_000 }, () => 'x'), deep: nested(5_000) } };
    const fault = (config: unknown) => faultOf(() => renderTemplates(config, big))?.code;
    expect(fault('{{trigger.long}}')).toBe('template_too_long');
    expect(fault('a {{trigger.long}}')).toBe('template_too_long');
    expect(fault({ a: '{{trigger.list}}' })).toBe('template_too_long');
    expect(fault({ a: 'of {{trigger.list}}' })).toBe('template_too_long');
    expect(fault('of {{trigger.deep}}')).toBe('template_too_long');
    expect(fault(Array.from({ length: 30 }, () => 'x'.repeat(3_000)))).toBe('template_too_long');
    expect(renderTemplates('{{trigger.long}}', big, { maxBytes: 100_000 })).toBe(long);
  });
});

describe('a template that is saved', () => {
  test('has its references listed with their places', () => {
    const config = { name: 'Hello {{trigger.by.name}}', rows: [{ a: 1 }, { b: '{{steps.x.output}} {{"{{"}}' }] };
    expect(referencesOf(config).map(({ reference, at }) => [reference.path.join('.'), at])).toEqual([
      ['trigger.by.name', 'name'],
      ['steps.x.output', 'rows[1].b'],
    ]);
  });

  test.each([
    '{{',
    '{{}}',
    '{{ }}',
    '{{trigger}',
    '{{trigger.}}',
    '{{.trigger}}',
    '{{trigger..row}}',
    '{{trigger row}}',
    '{{trigger[row]}}',
    '{{trigger["row]}}',
    '{{trigger["row"}}',
    '{{trigger | upper}}',
    '{{trigger | default}}',
    '{{trigger | default: }}',
    '{{trigger | default: x}}',
    '{{trigger | default: {"a":1}}',
    '{{trigger | default: "a}}',
    '{{trigger | default: 1 | default: 2}}',
    '{{(1+1)}}',
    '{{constructor("x")}}',
    '{{{trigger}}}',
    '{{trigger.\u0000}}',
    `{{${'a.'.repeat(40)}a}}`,
    `{{${'a'.repeat(300)}}}`,
  ])('is refused if its syntax is wrong: %j', (text) => {
    expect(faultOf(() => referencesOf({ a: [text] }))).toEqual({ code: 'invalid_template', at: 'a[0]' });
  });

  test('is refused in the name of a field, and if it is nested too deeply', () => {
    expect(faultOf(() => referencesOf({ '{{a}}': 1 }))?.code).toBe('invalid_template');
    expect(faultOf(() => referencesOf(nested(MAX_DEPTH + 1)))?.code).toBe('invalid_template');
    expect(referencesOf(nested(MAX_DEPTH))).toEqual([]);
  });

  test('is parsed in linear time, whatever it contains', () => {
    const length = 200_000;
    const hostile = ['{', '{{a', '{{a|default:[', '{{a["', '{{a | default: "\\', '}}', '{{ \t', '{{a.b[0]', '{{"'];
    for (const piece of hostile) {
      const text = piece.repeat(length / piece.length);
      try {
        parseTemplate(text);
      } catch {
        // Only the time counts: a quadratic parser would take minutes here, and the test's own time limit ends it.
      }
    }
    expect(parseTemplate('{{a}}'.repeat(length / 5))).toHaveLength(length / 5);
    expect(parseTemplate('{{a | default: {"b":[1]}}}'.repeat(10_000))).toHaveLength(10_000);
  });

  test('has paths that can also be parsed alone', () => {
    expect(parsePath('trigger.row.cells["a b"][2]')).toEqual(['trigger', 'row', 'cells', 'a b', '2']);
    expect(() => parsePath('trigger.row }')).toThrow('character');
  });
});

describe('in a URL', () => {
  const inUrl = (url: string, value: unknown) =>
    renderTemplates({ url }, { trigger: { v: value }, secrets: { K: 'T0/B0' } }, { isUrl: (at) => at === 'url' });

  test.each([
    [
      'a segment',
      'https://a.example/c/{{trigger.v}}',
      '../../admin?x=1',
      'https://a.example/c/..%2F..%2Fadmin%3Fx%3D1',
    ],
    ['a parameter', 'https://a.example/?q={{trigger.v}}&r=1', 'x&r=2#', 'https://a.example/?q=x%26r%3D2%23&r=1'],
    ['a part of a host', 'https://{{trigger.v}}.a.example/', 'evil.example/', 'https://evil.example%2F.a.example/'],
    [
      'text after a host',
      'https://a.example{{trigger.v}}/',
      ':x@evil.example',
      'https://a.example%3Ax%40evil.example/',
    ],
    ['a line', 'https://a.example/{{trigger.v}}', 'a\nb', 'https://a.example/a%0Ab'],
    ['half a character', 'https://a.example/{{trigger.v}}', '\ud83d', 'https://a.example/%EF%BF%BD'],
    ['a list', 'https://a.example/?ids={{trigger.v}}', [1, 2], 'https://a.example/?ids=%5B1%2C2%5D'],
    ['dots in a query', 'https://a.example/?up={{trigger.v}}', '..', 'https://a.example/?up=..'],
    ['a whole URL', '{{trigger.v}}', 'https://a.example/x?y=1', 'https://a.example/x?y=1'],
    ['the beginning of a URL', '{{trigger.v}}/x', 'https://a.example/../b', 'https://a.example/../b/x'],
    ['a secret', 'https://a.example/{{secrets.K}}/{{trigger.v}}', 'a/b', 'https://a.example/T0/B0/a%2Fb'],
  ])('%s stays what it is', (_, url, value, rendered) => {
    expect(inUrl(url, value)).toEqual({ url: rendered });
  });

  test.each(['.', '..'])('a segment must not become %s, which removes another one', (dots) => {
    expect(faultOf(() => inUrl('https://a.example/c/{{trigger.v}}/x', dots))?.code).toBe('invalid_value');
  });

  test('a segment must not become dots beside a text', () => {
    expect(faultOf(() => inUrl('https://a.example/c/.{{trigger.v}}?x=1', '.'))).toEqual({
      code: 'invalid_value',
      at: 'url',
    });
  });

  test('other texts are not encoded', () => {
    expect(renderTemplates({ body: 'a/{{trigger.v}}' }, { trigger: { v: 'b&c' } })).toEqual({ body: 'a/b&c' });
  });
});

test.each([
  ['trigger.list[9].name', 'trigger.list is a list of 2'],
  ['trigger.a.b.c.d', 'trigger.a.b is empty'],
  ['trigger.a.c', 'trigger.a has b'],
  ['trigger.text.inner', 'trigger.text is a text'],
  ['trigger.none.inner', 'trigger.none is null'],
  ['trigger.empty.inner', 'trigger.empty is empty'],
  ['trigger.many.inner', `trigger.many has ${Array.from({ length: 20 }, (_, i) => `n${i}`).join(', ')} and more`],
  ['other.inner', ''],
])('a missing value at %s says what is there', (path, found) => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`n${i}`, i]));
  const scope = { trigger: { list: [1, 2], a: { b: {} }, text: 'x', none: null, empty: {}, many } };
  expect(() => renderTemplates(`{{${path}}}`, scope)).toThrow(
    expect.objectContaining({ code: 'template_unresolved', found }),
  );
});
