import { type Fault, MAX_FAULTS } from '@commonplace/kit/errors';

/** Collects the faults of a request, so that all are reported at once. */
export interface Faults {
  readonly list: Fault[];
  /**
   * Adds a fault, up to the maximum number reported. Returns undefined, so that a reader can return the result as its
   * value.
   */
  add(param: string, code: string, message: string): undefined;
}

/** Maximum number of characters of a client's field name that an answer repeats. */
const MAX_PARAM = 200;

export function createFaults(): Faults {
  const list: Fault[] = [];
  return {
    list,
    add: (param, code, message) => {
      if (list.length < MAX_FAULTS)
        list.push({ param: printable(param), code, message: `${printable(param)} ${message}` });
      return undefined;
    },
  };
}

function printable(param: string): string {
  return param.length > MAX_PARAM ? `${param.slice(0, MAX_PARAM).toWellFormed()}…` : param.toWellFormed();
}

/** Converts a JSON value other than null to the value of a message. Adds faults and returns undefined if it can't. */
export type Convert = (value: unknown, param: string, faults: Faults) => unknown;
