import { type AppError, invalidField } from '@commonplace/kit/errors';

/** An element of a list. */
interface ListEntry {
  readonly id: string;
}

/** Returns whether a reader sees a pin. Pins that they do not see keep their place relative to their neighbors. */
type Sees<T> = (pin: T) => boolean;

/** Returns the list with `pin` inserted before the visible pin at `position`, or at the end if there is none. */
export function insertPin<T extends ListEntry>(pins: readonly T[], pin: T, sees: Sees<T>, position?: number): T[] {
  const before = position === undefined ? undefined : pins.filter(sees)[position];
  const at = before === undefined ? pins.length : pins.indexOf(before);
  return pins.toSpliced(at, 0, pin);
}

/** Returns the list with one of its pins moved to `position` among the visible ones. */
export function movePin<T extends ListEntry>(pins: readonly T[], pin: T, sees: Sees<T>, position: number): T[] {
  const others = pins.filter(({ id }) => id !== pin.id);
  return insertPin(others, pin, sees, position);
}

/**
 * Returns the list with its visible pins in the given order; undefined unless `order` names each of them exactly
 * once.
 */
export function orderPins<T extends ListEntry>(
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

/** Returns the error for a request that names two different items. */
export function ambiguousTarget(param: string): AppError {
  return invalidField(
    param,
    'ambiguous_target',
    'must not be combined with another selector that names a different item.',
  );
}

/** Returns the error for a request that names no item; `names` are the fields that could. */
export function missingTarget(names: string): AppError {
  return invalidField(names.split(',')[0] as string, 'missing_target', `is required, or another of ${names}.`);
}
