/** Escapes a text for markup and quoted attributes that are not written by a component. */
export function escapeAttribute(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
