import type { Fault } from '@commonplace/kit/errors';

/** Collects what is wrong with a request, each with the path of the field. */
export interface Faults {
  readonly list: Fault[];
  /** Adds a fault; the message is a sentence whose subject is the field. */
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

/** Returns the JSON of a field; undefined where it is absent or null. The gateway has checked that it is JSON. */
export function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  return JSON.parse(bytes.toString()) ?? undefined;
}
