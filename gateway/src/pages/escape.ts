/** Text as it may stand in markup and in quoted attributes, where no component writes it. */
export function escapeAttribute(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
