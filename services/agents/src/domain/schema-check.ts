import { createContext, Script } from 'node:vm';
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Milliseconds that checking a value against a schema may take. */
const CHECK_MS = 250;
/** Maximum number of faults reported for one value. */
const MAX_FAULTS = 2;

/**
 * Returns the faults of a value under a schema; undefined if there are none. Schemas come from users and external
 * servers. They are interpreted, never compiled to code, and the time is limited, so that neither references nor
 * regular expressions can block the process.
 */
export function faultIn(schema: JsonSchema, value: unknown): string | undefined {
  // The validator marks each part of a schema, and records are frozen.
  const own = structuredClone(schema) as Schema;
  const check = () => new Validator(own, '2020-12', true).validate(value);
  // The first attempt may fail only because the machine was busy.
  const result = within(check) ?? within(check);
  if (result === undefined) return 'It takes too long to be checked.';
  if (result.valid) return undefined;
  return result.errors
    .slice(-MAX_FAULTS)
    .map(({ instanceLocation, error }: OutputUnit) => `${instanceLocation}: ${error}`)
    .join(' ');
}

const script = new Script('check()');
const sandbox: { check: () => unknown } = { check: () => undefined };
const context = createContext(sandbox);

/** Runs a check with a time limit. Returns undefined if it takes longer or throws. */
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
