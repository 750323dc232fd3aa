/**
 * What waits, under small numbers that are used again. For what comes and goes with every request in place of a `Map` or
 * a `Set`: those make a new table every few dozen changes, and in V8 an old table holds on to the next, so that one that
 * has lived long enough to be old keeps everything that passes after it until a major collection.
 */
export class SlotMap<T extends object | ((...args: never[]) => unknown)> {
  readonly #values: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** Keeps a value under a number that nothing else has now, from 1 on. */
  put(value: T): number {
    const number = this.#free.pop() ?? this.#values.push(undefined);
    this.#values[number - 1] = value;
    return number;
  }

  /** The value under a number, which is free from then on; undefined where there is none. */
  take(number: number): T | undefined {
    const value = this.#values[number - 1];
    if (value === undefined) return undefined;
    this.#values[number - 1] = undefined;
    this.#free.push(number);
    return value;
  }

  /** Takes all. */
  *takeAll(): Generator<T> {
    for (let number = 1; number <= this.#values.length; number++) {
      const value = this.take(number);
      if (value !== undefined) yield value;
    }
  }
}
