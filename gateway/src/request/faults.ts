import { type Fault, MAX_FAULTS } from '@commonplace/kit/errors';

/** Collects what is wrong with a request, so that everything is told at once. */
export interface Faults {
  readonly list: Fault[];
  /** Notes a fault, up to the most that are told; gives undefined, for readers to give on. */
  add(param: string, code: string, message: string): undefined;
}

/** The most characters of a name that a client made up which an answer repeats. */
const MAX_PARAM = 200;

/** An empty collection. */
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

/** Turns a JSON value, not null, into that of a message; notes faults and gives undefined where it can't. */
export type Convert = (value: unknown, param: string, faults: Faults) => unknown;
