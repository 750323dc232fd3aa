/** Escapes a text for markup and quoted attributes that are assembled as strings instead of by components. */
export function escapeAttribute(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
