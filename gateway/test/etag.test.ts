import { createEtag, etagOf, versionOfIfMatch } from '@commonplace/kit/http';
import { piecesOf } from '@commonplace/kit/slices';
import { expect, test } from '@jest/globals';

test('the ETag of an answer is the same whether it is hashed at once or in pieces', () => {
  const data = JSON.stringify({ text: `${'a'.repeat(128 * 1024 - 12)}${'😀ü'.repeat(100_000)}` });
  const etag = createEtag();
  for (const piece of piecesOf(data)) etag.update(Buffer.from(piece));
  expect(etag.tag(7)).toBe(etagOf(7, data));
  expect(etagOf(undefined, data)).toMatch(/^"[\w-]{16}"$/);
});

test('If-Match names one version, by one representation of it or several', () => {
  expect(versionOfIfMatch('*')).toBeUndefined();
  expect(versionOfIfMatch('"v12"')).toBe(12);
  expect(versionOfIfMatch(' W/"v12.aB-_" , "v12.cd"')).toBe(12);
  expect(() => versionOfIfMatch('"v12", "v13"')).toThrow('If-Match names several versions');
  for (const wrong of ['', '"v12", *', '"v12",', '"aB-_"']) {
    expect(() => versionOfIfMatch(wrong)).toThrow('If-Match is an ETag of this API');
  }
});
