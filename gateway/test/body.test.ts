import { MAX_NESTING, parseJson, parseJsonBody } from '@commonplace/kit/http';
import { describe, expect, test } from '@jest/globals';

const parse = (text: string) => parseJsonBody(Buffer.from(text));
const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

describe('parseJsonBody', () => {
  test('parses an object, and an empty body as an empty object', () => {
    expect(parse('{"a":[1,"ü",{"b":null}],"c":true}')).toEqual({ a: [1, 'ü', { b: null }], c: true });
    expect(parse('')).toEqual({});
    expect(parse(' {} ')).toEqual({});
  });

  test.each([
    ['half an object', '{"a":1'],
    ['nothing but white space', '  '],
    ['a trailing comma', '{"a":1,}'],
    ['a comment', '{/* */"a":1}'],
    ['single quotes', "{'a':1}"],
    ['two values', '{}{}'],
    ['NaN', '{"a":NaN}'],
    ['a raw newline in a string', '{"a":"\n"}'],
    ['an open string', '{"a":"b'],
    ['a string that ends in a backslash', '{"a":"b\\"}'],
    ['a broken escape in a key', '{"\\q":1}'],
    ['closing brackets alone', ']}]}'],
    ['a byte order mark', '\ufeff{}'],
    ['a list', '[]'],
    ['a string', '"a"'],
    ['null', 'null'],
    ['a key twice', '{"a":1,"a":1}'],
    ['a key twice, once escaped', '{"a":1,"\\u0061":2}'],
    ['a key twice far below', '{"x":[1,{"y":{"b":[],"c":{"d":1},"b":2}}]}'],
    ['a key twice after a list', '{"a":[1,2],"b":"x","a":3}'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}'],
    ['a level too many', nested(MAX_NESTING + 1)],
    ['10,000 levels', nested(10_000)],
    ['10,000 brackets that never close', '['.repeat(10_000)],
    ['objects that never close', '{"a":'.repeat(10_000)],
  ])('refuses %s', (_, text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', reason: 'invalid_json' }));
  });

  test('refuses a body that is not UTF-8', () => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    expect(() => parseJsonBody(body)).toThrow(expect.objectContaining({ reason: 'invalid_json' }));
  });

  test('accepts equal keys in different objects, and brackets and quotes within strings', () => {
    expect(parse('{"a":{"a":[{"a":1},{"a":2}]},"b":"a"}')).toEqual({ a: { a: [{ a: 1 }, { a: 2 }] }, b: 'a' });
    const tricky = { 'a"b': '{"a":1,"a":2}', c: `${'['.repeat(200)}\\`, d: '\\"', 'e\\': ['"a"', '\\\\'] };
    expect(parse(JSON.stringify(tricky))).toEqual(tricky);
    expect(parse('{"a":"a","b":["a","a"]}')).toEqual({ a: 'a', b: ['a', 'a'] });
  });

  test('accepts the maximum nesting', () => {
    expect(() => parse(nested(MAX_NESTING))).not.toThrow();
  });

  test('accepts more levels in the fields that may have them', () => {
    const deep = new Map([['a', 200]]);
    const fits = nested(200);
    expect(() => parseJson(fits, deep)).not.toThrow();
    expect(() => parseJson(fits.replace('a', '\\u0061'), deep)).not.toThrow();
    expect(() => parseJson(nested(201), deep)).toThrow('more than 200 levels');
    const other = fits.replace('"a"', '"b"');
    expect(() => parseJson(other, deep)).toThrow(`more than ${MAX_NESTING} levels`);
    expect(() => parseJson(`{"x":{"a":${fits}}}`, deep)).toThrow(`more than ${MAX_NESTING} levels`);
    expect(() => parseJson(`{"a":1,"b":${fits}}`, deep)).toThrow(`more than ${MAX_NESTING} levels`);
  });

  test('keeps __proto__ an ordinary key', () => {
    const value = parse('{"__proto__":{"polluted":true}}');
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(value.polluted).toBeUndefined();
  });
});
