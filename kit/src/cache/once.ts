/** Returns a function that makes a value at its first call, and returns the same one at every later call. */
export function once<T extends object | string>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
