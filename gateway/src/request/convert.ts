import type { Faults } from '@commonplace/kit/errors';

/** Converts a JSON value other than null to the value of a message. Adds faults and returns undefined if it can't. */
export type Convert = (value: unknown, param: string, faults: Faults) => unknown;
