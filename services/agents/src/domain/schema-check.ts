import { createContext, Script } from 'node:vm';
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Milliseconds for checking a value against a schema. */
const CHECK_MS = 250;
/** Faults that are told of one value. */
const MAX_TOLD = 2;

/**
 * Returns what is wrong with a value for a schema; undefined if nothing is. Schemas come from users and from servers of
 * strangers: they are interpreted, never compiled to code, and for so long only, so that neither their references nor their
 * regular expressions can hold the process up.
 */
export function faultIn(schema: JsonSchema, value: unknown): string | undefined {
  const check = () => new Validator(schema as Schema, '2020-12', true).validate(value);
  // A busy machine may have taken the time of the first try.
  const result = within(check) ?? within(check);
  if (result === undefined) return 'It takes too long to be checked.';
  if (result.valid) return undefined;
  return result.errors
    .slice(-MAX_TOLD)
    .map(({ instanceLocation, error }: OutputUnit) => `${instanceLocation}: ${error}`)
    .join(' ');
}

const script = new Script('check()');
const sandbox: { check: () => unknown } = { check: () => undefined };
const context = createContext(sandbox);

/** Runs a check within its time. Returns undefined if it takes longer or throws. */
function within<T>(check: () => T): T | undefined {
  sandbox.check = check;
  try {
    return script.runInContext(context, { timeout: CHECK_MS }) as T;
  } catch {
    return undefined;
  } finally {
    sandbox.check = () => undefined;
  }
}
