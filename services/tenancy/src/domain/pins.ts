/** Anything in a list. */
interface Listed {
  readonly id: string;
}

/** Tells what somebody sees of a list. The rest keeps its place among its neighbours, whatever they do. */
export type Sees<T> = (pin: T) => boolean;

/** A list with one more pin: before the seen one at `position`, at the end where there is none. */
export function insertPin<T extends Listed>(pins: readonly T[], pin: T, sees: Sees<T>, position?: number): T[] {
  const before = position === undefined ? undefined : pins.filter(sees)[position];
  const at = before === undefined ? pins.length : pins.indexOf(before);
  return pins.toSpliced(at, 0, pin);
}

/** A list with one of its pins moved to stand at `position` among the seen ones. */
export function movePin<T extends Listed>(pins: readonly T[], pin: T, sees: Sees<T>, position: number): T[] {
  const others = pins.filter(({ id }) => id !== pin.id);
  return insertPin(others, pin, sees, position);
}

/** A list with its seen pins in the order of some ids; undefined unless these are they, each once. */
export function orderPins<T extends Listed>(
  pins: readonly T[],
  order: readonly string[],
  sees: Sees<T>,
): T[] | undefined {
  const seen = new Map(pins.filter(sees).map((pin) => [pin.id, pin]));
  const wanted = order.flatMap((id) => seen.get(id) ?? []);
  if (order.length !== seen.size || wanted.length !== seen.size || new Set(order).size !== seen.size) return undefined;
  let next = 0;
  return pins.map((pin) => (seen.has(pin.id) ? (wanted[next++] as T) : pin));
}
