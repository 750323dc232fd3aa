/**
 * Stores values under small numbers that are reused. It replaces a `Map` or `Set` whose entries come and go with every
 * request. Those allocate a new table every few dozen changes, and in V8 an old table references the next one, so a
 * table that has reached old space retains everything added after it until a major garbage collection.
 */
export class SlotMap<T extends object | ((...args: never[]) => unknown)> {
  readonly #values: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** Stores a value and returns its number, which is 1 or more and not in use. */
  put(value: T): number {
    const number = this.#free.pop() ?? this.#values.push(undefined);
    this.#values[number - 1] = value;
    return number;
  }

  /** Removes and returns the value with a number; undefined if there is none. */
  take(number: number): T | undefined {
    const value = this.#values[number - 1];
    if (value === undefined) return undefined;
    this.#values[number - 1] = undefined;
    this.#free.push(number);
    return value;
  }

  /** Removes and returns all values. */
  *takeAll(): Generator<T> {
    for (let number = 1; number <= this.#values.length; number++) {
      const value = this.take(number);
      if (value !== undefined) yield value;
    }
  }
}
