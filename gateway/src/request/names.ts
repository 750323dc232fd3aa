/**
 * Returns whether the objects in a JSON value have more than `max` different names of fields together. Each new name
 * costs those who parse it or check it a microsecond and more; names that repeat, as those of rows, do not.
 */
export function hasMoreNames(value: unknown, max: number): boolean {
  const names = new Set<string>();
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const one = rest.pop();
    if (typeof one !== 'object' || one === null) continue;
    if (Array.isArray(one)) {
      for (const item of one) if (typeof item === 'object') rest.push(item);
      continue;
    }
    for (const name in one) {
      names.add(name);
      if (names.size > max) return true;
      rest.push((one as Readonly<Record<string, unknown>>)[name]);
    }
  }
  return false;
}
