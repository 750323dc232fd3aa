/** The name in the API of an enum value: `document` for `RESOURCE_TYPE_DOCUMENT` with the prefix `RESOURCE_TYPE`. */
type EnumName<Value extends string, Prefix extends string> = `${Value}` extends `${Prefix}_${infer Name}`
  ? Lowercase<Name>
  : string;

/** Returns the name in the API of a value of the contract's enum whose values begin with `prefix`. */
export function enumName<Value extends string, Prefix extends string>(
  value: Value,
  prefix: Prefix,
): EnumName<Value, Prefix> {
  return value.slice(prefix.length + 1).toLowerCase() as EnumName<Value, Prefix>;
}

/** Returns the name in the API of a value, as `enumName` does; undefined for the unspecified value. */
export function specifiedName<Name extends string>(value: string, prefix: string): Name | undefined {
  const name = enumName(value, prefix);
  return name === 'unspecified' || name === '' ? undefined : (name as Name);
}

/** Returns the value of a contract's enum that has a name in the API. */
export function enumValue<Value extends string>(values: Readonly<Record<string, Value>>, name: string): Value {
  return values[name.toUpperCase()] as Value;
}

type Values = Readonly<Record<string, string>>;
type Named<E> = Exclude<keyof E & string, 'UNSPECIFIED'>;

/** Returns the values of a generated enum by their names in lower case, as records store them: `agent_run` for `AGENT_RUN`. */
export function valuesByName<E extends Values>(values: E): { readonly [Name in Named<E> as Lowercase<Name>]: E[Name] } {
  return Object.fromEntries(namesOf(values)) as never;
}

/** Returns the names that records store by the values of a generated enum. `UNSPECIFIED` has none. */
export function namesByValue<E extends Values>(
  values: E,
): { readonly [Name in Named<E> as E[Name] & string]: Lowercase<Name> } {
  return Object.fromEntries(namesOf(values).map(([name, value]) => [value, name])) as never;
}

function namesOf(values: Values): [name: string, value: string][] {
  const named = Object.entries(values).filter(([name]) => name !== 'UNSPECIFIED');
  return named.map(([name, value]) => [name.toLowerCase(), value]);
}
