import parseRange from 'range-parser';

export interface Span {
  readonly offset: number;
  readonly length: number;
}

/**
 * Returns the range of `size` bytes that a request asks for (RFC 9110, 14). Returns undefined, which means the whole
 * file, if the range is absent, invalid or multiple, or if the ETag differs from `If-Range`.
 */
export function rangeOf(
  size: number,
  range: string,
  ifRange: string,
  etag: string,
): Span | 'unsatisfiable' | undefined {
  if (range === '' || (ifRange !== '' && ifRange !== etag)) return undefined;
  const found = parseRange(size, withSuffixesUpTo(size, range), { combine: true });
  if (found === -1) return 'unsatisfiable';
  if (found === -2 || found.type !== 'bytes' || found.length !== 1) return undefined;
  const [{ start, end }] = found as unknown as [{ start: number; end: number }];
  return { offset: start, length: end - start + 1 };
}

/**
 * Shortens suffixes such as `-500` to the size of the file: one that is longer means the whole file, and the parser
 * takes it for unsatisfiable.
 */
function withSuffixesUpTo(size: number, range: string): string {
  // A pattern that looks behind would be tried at each space, over all spaces before it.
  return range.replace(/([=,]\s*)-(\d+)/g, (suffix, before, length) =>
    Number(length) > size ? `${before}-${size}` : suffix,
  );
}
