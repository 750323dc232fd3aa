/** A list as one text: items between line feeds. */
export function listText(items: readonly string[]): string {
  return items.length === 0 ? '' : `\n${items.map(clean).join('\n')}\n`;
}

/** An item as it stands in a list, so that it is found whole. */
export function itemText(item: string): string {
  return `\n${clean(item)}\n`;
}

export function listItems(text: string): string[] {
  return text === '' ? [] : text.slice(1, -1).split('\n');
}

/** Items that are searched for within a list, as JSON. */
export function itemsJson(items: readonly string[]): string {
  return JSON.stringify(items.map(itemText));
}

/** One value of an object as an item: the same for the same name and value, and for these only. */
export function pairItem(name: string, value: string | number | boolean): string {
  return JSON.stringify([name, value]);
}

/** NUL would end a text for the driver. */
function clean(item: string): string {
  return item.replace(/[\n\0]/g, ' ');
}
