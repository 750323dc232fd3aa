/** Encodes a list as one text: items between line feeds. */
export function listText(items: readonly string[]): string {
  return items.length === 0 ? '' : `\n${items.map(clean).join('\n')}\n`;
}

/** Encodes an item as it appears in a list, so that only the whole item matches. */
export function itemText(item: string): string {
  return `\n${clean(item)}\n`;
}

export function listItems(text: string): string[] {
  return text === '' ? [] : text.slice(1, -1).split('\n');
}

/** Encodes items to search for in a list as JSON. */
export function itemsJson(items: readonly string[]): string {
  return JSON.stringify(items.map(itemText));
}

/** Encodes a name and a value as an item that is unique for this pair. */
export function pairItem(name: string, value: string | number | boolean): string {
  return JSON.stringify([name, value]);
}

/** The driver would end a text at NUL. */
function clean(item: string): string {
  return item.replace(/[\n\0]/g, ' ');
}
