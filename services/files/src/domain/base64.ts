/** The bytes of a text in Base64, either alphabet, padded or not; undefined where it is none. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  const plain = text.replace(/=+$/, '').length;
  // Decoding skips what is no Base64: so many characters make so many bytes only where all of them are.
  if (Math.floor((plain * 3) / 4) !== bytes.length || plain % 4 === 1) return undefined;
  return /[^A-Za-z0-9+/_=-]/.test(text) ? undefined : bytes;
}
