/** Returns the contract's enum value for a name in the API: `AUTOMATION_CONCURRENCY_QUEUE` for `queue`. */
export const enumNamed = <E extends string>(values: Readonly<Record<string, E>>, name: string): E =>
  values[name.toUpperCase()] as E;

/** Returns the name of an enum value in the API; undefined for the unspecified value. */
export function nameIn<T extends string>(value: string, prefix: string): T | undefined {
  const name = value.slice(prefix.length).toLowerCase();
  return name === 'unspecified' || name === '' ? undefined : (name as T);
}
