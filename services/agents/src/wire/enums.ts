/** Returns the value of an enum of the contract by its name in the API: `org` for `AGENT_VISIBILITY_ORG`. */
export const enumNamed = <E extends string>(values: Readonly<Record<string, E>>, name: string): E =>
  values[name.toUpperCase()] as E;

/** Returns the name of an enum's value in the API; undefined for the unspecified one. */
export function nameIn<T extends string>(value: string, prefix: string): T | undefined {
  const name = value.slice(prefix.length).toLowerCase();
  return name === 'unspecified' || name === '' ? undefined : (name as T);
}
