import type { Fault } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import { isLongerThan, trimLine } from '@commonplace/kit/words';

/** Collects the faults of a form's configuration or of a submission. */
export interface FormFaults {
  add(param: string, code: string, message: string): undefined;
  readonly list: Fault[];
}

export function createFormFaults(): FormFaults {
  const list: Fault[] = [];
  return {
    list,
    add(param, code, message) {
      list.push({ param, code, message });
    },
  };
}

/** Reads an object of free-form JSON key by key, and adds each fault under its own path. Null counts as absent. */
interface ObjectReader {
  /** Returns a text without control characters, trimmed at both ends. */
  line(key: string, max: number, required?: boolean): string | undefined;
  text(key: string, max: number): string | undefined;
  flag(key: string, fallback: boolean): boolean;
  number(key: string): number | undefined;
  integer(key: string, min: number, max: number): number | undefined;
  oneOf<T extends string>(key: string, values: readonly T[], fallback?: T): T | undefined;
  list(key: string, max: number): readonly unknown[] | undefined;
  object(key: string): Readonly<Record<string, unknown>> | undefined;
  any(key: string): unknown;
  /** Accepts and ignores keys that a response contains and a client may send back. */
  ignore(...keys: string[]): void;
  /** Adds a fault for every key that was not read. */
  end(): void;
  at(key: string): string;
}

export function readObject(given: Readonly<Record<string, unknown>>, param: string, faults: FormFaults): ObjectReader {
  const seen = new Set<string>();
  const at = (key: string) => (param === '' ? key : `${param}.${key}`);
  const take = (key: string): unknown => {
    seen.add(key);
    const value = Object.hasOwn(given, key) ? given[key] : undefined;
    return value === null ? undefined : value;
  };
  const wrong = (key: string, type: string): undefined => faults.add(at(key), 'invalid_type', `must be ${type}.`);
  const tooLong = (key: string, max: number): undefined =>
    faults.add(at(key), 'invalid_value', `may have at most ${max} characters.`);

  return {
    at,
    any: take,
    ignore(...keys) {
      for (const key of keys) seen.add(key);
    },
    line(key, max, required = false) {
      const value = take(key);
      if (value === undefined) return required ? faults.add(at(key), 'missing_field', 'is required.') : undefined;
      if (typeof value !== 'string') return wrong(key, 'a string');
      const text = trimLine(value);
      if (text === '') return required ? faults.add(at(key), 'invalid_value', 'must not be empty.') : undefined;
      if (/\p{Cc}/u.test(text)) return faults.add(at(key), 'invalid_value', 'must have no control characters.');
      return isLongerThan(text, max) ? tooLong(key, max) : text;
    },
    text(key, max) {
      const value = take(key);
      if (value === undefined || value === '') return undefined;
      if (typeof value !== 'string') return wrong(key, 'a string');
      return isLongerThan(value, max) ? tooLong(key, max) : value;
    },
    flag(key, fallback) {
      const value = take(key);
      if (value === undefined) return fallback;
      if (typeof value === 'boolean') return value;
      wrong(key, 'true or false');
      return fallback;
    },
    number(key) {
      const value = take(key);
      return value === undefined || (typeof value === 'number' && Number.isFinite(value))
        ? (value as number | undefined)
        : wrong(key, 'a number');
    },
    integer(key, min, max) {
      const value = take(key);
      if (value === undefined) return undefined;
      if (typeof value !== 'number') return wrong(key, 'a number');
      if (Number.isInteger(value) && value >= min && value <= max) return value;
      return faults.add(at(key), 'invalid_value', `must be a whole number from ${min} to ${max}.`);
    },
    oneOf(key, values, fallback) {
      const value = take(key);
      if (value === undefined) return fallback;
      const known = values.find((one) => one === value);
      return known ?? faults.add(at(key), 'invalid_value', `must be one of ${values.join(', ')}.`);
    },
    list(key, max) {
      const value = take(key);
      if (value === undefined) return undefined;
      if (!Array.isArray(value)) return wrong(key, 'a list');
      return value.length > max ? faults.add(at(key), 'too_many_items', `may have at most ${max} items.`) : value;
    },
    object(key) {
      const value = take(key);
      return value === undefined || isObject(value) ? value : wrong(key, 'an object');
    },
    end() {
      for (const key of Object.keys(given)) {
        if (!seen.has(key)) faults.add(at(key), 'unknown_field', 'is not a field of this request.');
      }
    },
  };
}
