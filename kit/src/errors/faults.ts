import { type Fault, fieldName, MAX_FAULTS } from './index.js';

/** Collects the faults of a request, so that one error reports them all. */
export interface Faults {
  readonly list: Fault[];
  /**
   * Adds a fault, up to the maximum number reported. The message is the predicate of a sentence whose subject is the
   * field. Returns undefined, so that a reader can return the result as its value.
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
