import { expect, test } from '@jest/globals';
import { contentDisposition } from '../../src/media/index.js';
import { HOSTILE_NAMES } from './hostile.js';

test.each(HOSTILE_NAMES)('keeps the name %j within the header', (name) => {
  const header = contentDisposition('attachment', name);
  expect(header).toMatch(
    /^attachment; filename=(?:"[^"\\]*"|[\w!#$&+.^`|~-]+)(?:; filename\*=UTF-8''[\w!#$&+.^`|~%-]+)?$/,
  );
  expect(() => new Headers({ 'content-disposition': header })).not.toThrow();
  expect(decodeURIComponent(header)).not.toMatch(/\.\.[/\\]|\u202e|[\r\n\0]/);
});

test('preserves as much of a name as possible', () => {
  expect(contentDisposition('inline', 'plan.txt')).toBe('inline; filename="plan.txt"');
  expect(contentDisposition('inline', '报告.pdf')).toContain("filename*=UTF-8''%E6%8A%A5%E5%91%8A.pdf");
  const long = contentDisposition('attachment', `${'a'.repeat(5000)}.pdf`);
  expect(long.length).toBeLessThan(600);
  expect(long).toMatch(/\.pdf(?:"|$)/);
});
