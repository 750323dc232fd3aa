/** Matches how Markdown, HTML and JSON can write a character of an id or of `resource:` otherwise. */
const ESCAPES = /&#(\d{1,10});?|&#[xX]([0-9a-fA-F]{1,8});?|\\u([0-9a-fA-F]{4})|\\([-:_])|&colon;/g;

/** Returns a text of any format with the characters that ids and their addresses consist of as themselves. */
export function resolveEscapes(text: string): string {
  return /&(?:#|colon;)|\\[-:_u]/.test(text) ? text.replace(ESCAPES, unescaped) : text;
}

function unescaped(_whole: string, decimal?: string, hex?: string, json?: string, punctuation?: string): string {
  if (punctuation !== undefined) return punctuation;
  const code = decimal === undefined ? Number.parseInt(hex ?? json ?? '3a', 16) : Number(decimal);
  return code < 0x80 ? String.fromCharCode(code) : ' ';
}
