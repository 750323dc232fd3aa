/** Returns the text of sanitised HTML on one line; `gap` replaces each tag. */
export function plainText(html: string, gap: '' | ' ' = ''): string {
  return html
    .replace(/<[^<>]*>/g, gap)
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim();
}
