/** The fields that an update names, as dotted paths in the contract's snake_case. */
export interface Mask {
  has(path: string): boolean;
  /** Named fields of `settings`, in camelCase. */
  readonly settings: readonly string[];
  /** Named top-level fields, for events. */
  readonly fields: readonly string[];
}

export function maskOf(paths: readonly string[] | undefined = []): Mask {
  const named = new Set(paths);
  const settings = paths.filter((path) => path.startsWith('settings.')).map((path) => camelCase(path.slice(9)));
  return {
    has: (path) => named.has(path),
    settings,
    fields: [...new Set(paths.map((path) => path.split('.')[0] as string))],
  };
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the names of the fields that a creation sets. Creations have no mask; empty lists count as not given. */
export function givenFields(settings: object | undefined): string[] {
  return Object.entries(settings ?? {})
    .filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0))
    .map(([name]) => name);
}

/**
 * Returns `before` with the named fields taken from `change`. A named field without a value falls back to its
 * default.
 */
export function mergeSettings<T extends object>(
  before: T,
  change: Partial<T> | undefined,
  names: readonly string[],
): T {
  const merged = { ...before } as Record<string, unknown>;
  for (const name of names) {
    const value = (change as Record<string, unknown> | undefined)?.[name];
    if (value === undefined) delete merged[name];
    else merged[name] = value;
  }
  return merged as T;
}
