const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes a text for use between tags and in a double-quoted attribute. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (char) => NAMED[char] ?? char);

/** Undoes {@link escapeHtml} and nothing else. */
export const unescapeHtml = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name] ?? '');
