/** Which fields a change names: dotted paths in the contract's snake_case. */
export interface Mask {
  has(path: string): boolean;
  /** Names in camelCase of the fields of `settings` that are named. */
  readonly settings: readonly string[];
  /** Top-level fields, for events. */
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

/** The fields of a change that are given at all; for creations, which have no mask. */
export function givenFields(settings: object | undefined): string[] {
  return Object.entries(settings ?? {})
    .filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0))
    .map(([name]) => name);
}

/** Settings with the named fields as the change has them; what it clears falls back to its default. */
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
