import { type Fault, fieldName, MAX_FAULTS } from '@commonplace/kit/errors';

/** Collects the faults of a request, so that all are reported at once. */
export interface Faults {
  readonly list: Fault[];
  /**
   * Adds a fault, up to the maximum number reported. Returns undefined, so that a reader can return the result as its
   * value.
   */
  add(param: string, code: string, message: string): undefined;
}

export function createFaults(): Faults {
  const list: Fault[] = [];
  return {
    list,
    add: (param, code, message) => {
      if (list.length < MAX_FAULTS)
        list.push({ param: fieldName(param), code, message: `${fieldName(param)} ${message}` });
      return undefined;
    },
  };
}

/** Converts a JSON value other than null to the value of a message. Adds faults and returns undefined if it can't. */
export type Convert = (value: unknown, param: string, faults: Faults) => unknown;
