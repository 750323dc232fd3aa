import { createContext, Script } from 'node:vm';

/** Milliseconds that one text may take: an expression that backtracks without end is stopped. */
const LIMIT_MS = 50;

/** A pattern that has to match a whole text, as in HTML; undefined where it is no regular expression. */
export function compilePattern(pattern: string): RegExp | undefined {
  try {
    return new RegExp(`^(?:${pattern})$`, 'u');
  } catch {
    return undefined;
  }
}

const test = new Script('pattern.test(text)');
const sandbox: { pattern: RegExp; text: string } = { pattern: /^$/, text: '' };
const context = createContext(sandbox);

/** Whether a text matches; no expression holds the process up, and what takes too long does not match. */
export function matchesPattern(pattern: RegExp, text: string): boolean {
  sandbox.pattern = pattern;
  sandbox.text = text;
  try {
    return test.runInContext(context, { timeout: LIMIT_MS }) === true;
  } catch {
    return false;
  }
}
