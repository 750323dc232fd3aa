import { createContext, Script } from 'node:vm';
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Maximum number of faults reported for one value. */
const MAX_FAULTS = 2;

/** The fault of a value that takes longer to check than it may. */
export const TOO_LONG = 'It takes too long to be checked.';

/** The result of a check: the faults of the value, if it has any, or that the check took too long. */
export type Checked = { readonly fault: string | undefined } | 'late';

/**
 * Checks a value against a schema for at most `ms` milliseconds. Schemas come from users and external servers. They are
 * interpreted, never compiled to code, and the time is limited, so that neither references nor regular expressions can
 * block a thread.
 */
export function checkWithin(ms: number, schema: JsonSchema, value: unknown): Checked {
  // The validator marks each part of a schema, and records are frozen.
  const own = structuredClone(schema) as Schema;
  const result = within(ms, () => new Validator(own, '2020-12', true).validate(value));
  if (result === undefined) return 'late';
  if (result.valid) return { fault: undefined };
  const faults = result.errors
    .slice(-MAX_FAULTS)
    .map(({ instanceLocation, error }: OutputUnit) => `${instanceLocation}: ${error}`);
  return { fault: faults.join(' ') };
}

/** Checks a value like `checkWithin`, and once more if that is late: it may be so only because the machine was busy. */
export function checkTwiceWithin(ms: number, schema: JsonSchema, value: unknown): Checked {
  const first = checkWithin(ms, schema, value);
  return first === 'late' ? checkWithin(ms, schema, value) : first;
}

const script = new Script('check()');
const sandbox: { check: () => unknown } = { check: () => undefined };
const context = createContext(sandbox);

/** Runs a check with a time limit. Returns undefined if it takes longer or throws. */
function within<T>(ms: number, check: () => T): T | undefined {
  sandbox.check = check;
  try {
    return script.runInContext(context, { timeout: ms }) as T;
  } catch {
    return undefined;
  } finally {
    sandbox.check = () => undefined;
  }
}
