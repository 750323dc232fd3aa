import { isUuid } from '@commonplace/kit/id';
import { trimLine } from '@commonplace/kit/words';
import type { Rules } from '@commonplace/proto/api/v1/access.js';
import type { Convert } from './convert.js';

/** Returns the function that reads strings and checks them against a field's rules. */
export function compileText(rules: Rules): Convert {
  const shape = compileShape(rules);
  const length = compileLength(rules);
  const isFilled = (rules.required && !rules.mayBeEmpty) || rules.minLength > 0;
  return (value, param, faults) => {
    if (typeof value !== 'string') return faults.add(param, 'invalid_type', 'must be a string.');
    const text = rules.line ? trimLine(value) : value;
    if (isFilled && text === '' && value.trim() !== '') {
      return faults.add(param, 'invalid_value', 'must have a character that can be seen.');
    }
    if (text === '' && rules.required && !rules.mayBeEmpty) return faults.add(param, 'missing_field', 'is required.');
    const trouble = shape(text) ?? length(text) ?? characters(text, rules.line);
    return trouble === undefined ? text : faults.add(param, 'invalid_value', trouble);
  };
}

/**
 * Matches an address without invisible characters, whose domain is a host name in any script, or an IP address in
 * brackets. One that looks like somebody else's, or names the same mailbox by a further dot, would be another account.
 */
const EMAIL =
  /^[^\s@\p{C}\p{Default_Ignorable_Code_Point}]+@(?:[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)*|\[[A-Za-z0-9:.]+\])$/u;

type Check = (text: string) => string | undefined;

function compileShape(rules: Rules): Check {
  if (rules.uuid) return (text) => (isUuid(text) ? undefined : 'must be a UUID in lower case.');
  if (rules.in.length > 0) {
    const choices = new Set(rules.in);
    const message = `must be one of ${rules.in.join(', ')}.`;
    return (text) => (choices.has(text) ? undefined : message);
  }
  if (rules.email) return (text) => (EMAIL.test(text) ? undefined : 'must be an e-mail address.');
  return () => undefined;
}

function lengthRange(least: number, most: number): string {
  if (most === 0) return `${least} characters or more`;
  if (least === 0) return `${most} characters or fewer`;
  return least === most ? `${most} characters` : `${least} to ${most} characters`;
}

function compileLength({ minLength, maxLength }: Rules): Check {
  const message = `must have ${lengthRange(minLength, maxLength)}.`;
  return (text) => {
    // A code point has one or two UTF-16 units, so the length of most texts can be checked without counting code
    // points.
    if (text.length < minLength || (maxLength > 0 && text.length > 2 * maxLength)) return message;
    if (text.length >= 2 * minLength && (maxLength === 0 || text.length <= maxLength)) return undefined;
    const count = codePoints(text);
    return count < minLength || (maxLength > 0 && count > maxLength) ? message : undefined;
  };
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

// Unicode line and paragraph separators break lines like control characters.
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

function characters(text: string, line: boolean): string | undefined {
  if (!isClean(text)) return 'must not have NUL characters or halves of surrogate pairs.';
  return line && CONTROL.test(text) ? 'must not have control characters.' : undefined;
}

/** Returns whether every store and index can store a string: it is well-formed and contains no NUL. */
export function isClean(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
