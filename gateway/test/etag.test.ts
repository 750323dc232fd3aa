import { createEtag, etagOf } from '@commonplace/kit/http';
import { piecesOf } from '@commonplace/kit/slices';
import { expect, test } from '@jest/globals';

test('the ETag of an answer is the same whether it is hashed at once or in pieces', () => {
  const data = JSON.stringify({ text: `${'a'.repeat(128 * 1024 - 12)}${'😀ü'.repeat(100_000)}` });
  const etag = createEtag();
  for (const piece of piecesOf(data)) etag.update(Buffer.from(piece));
  expect(etag.tag(7)).toBe(etagOf(7, data));
  expect(etagOf(undefined, data)).toMatch(/^"[\w-]{16}"$/);
});
