import { isUuid } from '@commonplace/kit/id';
import { isBlank, isLongerThan } from '@commonplace/kit/words';
import { type Arguments, InvalidArguments } from './tool.js';

/**
 * Returns the schema of an argument that `requiredText` reads, so that an input that a person has edited is checked
 * before the call is approved.
 */
export const textSchema = (description: string, maxLength: number) => ({
  ...{ type: 'string', description, minLength: 1, maxLength },
});

/** Returns a text argument unchanged, at most `max` characters; undefined if it is absent. */
export function optionalText(args: Arguments, name: string, max: number): string | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new InvalidArguments(`${name} must be a text.`);
  if (isLongerThan(value, max)) throw new InvalidArguments(`${name} must have at most ${max} characters.`);
  return value;
}

export function requiredText(args: Arguments, name: string, max: number): string {
  const value = optionalText(args, name, max);
  if (value === undefined || isBlank(value)) throw new InvalidArguments(`${name} must be a text.`);
  return value;
}

export function optionalId(args: Arguments, name: string): string | undefined {
  const value = optionalText(args, name, 100)?.trim().toLowerCase();
  if (value === undefined || value === '') return undefined;
  if (!isUuid(value)) throw new InvalidArguments(`${name} must be the id of a resource.`);
  return value;
}

/** Returns an argument that is the number of a message; undefined if it is absent. */
export function optionalSeq(args: Arguments, name: string): number | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  const isSeq = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value < 2 ** 31;
  if (!isSeq) throw new InvalidArguments(`${name} must be a whole number from 1 on.`);
  return value;
}

export function requiredId(args: Arguments, name: string): string {
  const value = optionalId(args, name);
  if (value === undefined) throw new InvalidArguments(`${name} must be the id of a resource.`);
  return value;
}

/** Maximum characters of a resource's name. */
const MAX_NAME_LENGTH = 255;

/** Returns the schema of an argument that `requiredName` reads. */
export const nameSchema = (description: string) => textSchema(description, MAX_NAME_LENGTH);

/** Returns a name, which must be one line. */
export function requiredName(args: Arguments, name: string): string {
  const value = requiredText(args, name, MAX_NAME_LENGTH).trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/[\u0000-\u001f\u007f\u2028\u2029]/.test(value)) throw new InvalidArguments(`${name} must be one line.`);
  return value;
}

export function oneOf<T extends string>(args: Arguments, name: string, values: readonly T[]): T {
  const found = values.find((value) => value === args[name]);
  if (found === undefined) throw new InvalidArguments(`${name} must be one of: ${values.join(', ')}.`);
  return found;
}

/** Returns a list argument with `min` to `max` entries. */
export function listOf(args: Arguments, name: string, min: number, max: number): readonly unknown[] {
  const value = args[name];
  if (!Array.isArray(value) || value.length < min || value.length > max) {
    throw new InvalidArguments(`${name} must be a list of ${min} to ${max} entries.`);
  }
  return value;
}
