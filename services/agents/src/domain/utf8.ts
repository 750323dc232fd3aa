/** Returns the beginning of a text that has at most `maxBytes` bytes in UTF-8, without splitting a character. */
export function firstBytes(text: string, maxBytes: number): string {
  // No character has more than three bytes for each of its code units.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = Math.max(maxBytes, 0);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
