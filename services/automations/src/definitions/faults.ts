import type { Fault } from '@commonplace/kit/errors';

/** Collects the faults of a request, each with the path of its field. */
export interface Faults {
  readonly list: Fault[];
  /** Adds a fault. The message is the predicate of a sentence whose subject is the field. */
  add(param: string, code: string, message: string): undefined;
}

export function createFaults(): Faults {
  const list: Fault[] = [];
  return {
    list,
    add(param, code, message) {
      list.push({ param, code, message: `${param} ${message}` });
      return undefined;
    },
  };
}

/** Returns the JSON value of a field; undefined if it is absent or null. The gateway has checked the syntax. */
export function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  return JSON.parse(bytes.toString()) ?? undefined;
}
