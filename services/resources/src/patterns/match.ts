import { createContext, Script } from 'node:vm';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { InexpressiblePattern, translatePattern } from './translate.js';

/** A text that must match a pattern as a whole, as in HTML. */
export interface PatternCheck {
  readonly pattern: string;
  readonly text: string;
}

/** `late`: the time for all patterns together ran out before this one was matched. */
export type PatternVerdict = 'matches' | 'differs' | 'late';

/** Maximum steps of a compiled pattern; matching takes at most this number times the characters of the text. */
const MAX_PROGRAM_SIZE = 3000;
/**
 * Milliseconds for all patterns of one submission that RE2 cannot express. New forms cannot have such patterns; forms
 * that were saved with one keep it, in V8's engine.
 */
const BACKTRACKING_MS = 100;

const compiled = new LRUCache<string, RE2JS | RegExp>({ max: 500 });

function isRegularExpression(pattern: string): boolean {
  try {
    new RegExp(`^(?:${pattern})$`, 'u');
    return true;
  } catch {
    return false;
  }
}

/** Compiles a pattern for RE2's engine, which takes linear time. Throws InexpressiblePattern. */
function compileLinear(pattern: string): RE2JS {
  const translated = translatePattern(pattern);
  let expression: RE2JS;
  try {
    expression = RE2JS.compile(translated);
  } catch (error) {
    throw new InexpressiblePattern(error instanceof Error ? reasonOf(error.message) : 'is not supported');
  }
  if (expression.programSize() > MAX_PROGRAM_SIZE) throw new InexpressiblePattern('is too large with its repetitions');
  return expression;
}

function reasonOf(message: string): string {
  if (/repeat (?:count|size)/.test(message)) return 'repeats something more than 1000 times';
  if (/character class/.test(message)) return 'has a property of characters that is not supported';
  return 'has a construct that is not supported';
}

function compile(pattern: string): RE2JS | RegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  let expression: RE2JS | RegExp;
  try {
    expression = compileLinear(pattern);
  } catch (error) {
    if (!(error instanceof InexpressiblePattern)) throw error;
    expression = new RegExp(`^(?:${pattern})$`, 'u');
  }
  compiled.set(pattern, expression);
  return expression;
}

/** Returns for each pattern the message of why it cannot be used; undefined for one that can. */
export function patternFaults(patterns: readonly string[]): (string | undefined)[] {
  return patterns.map((pattern) => {
    if (!isRegularExpression(pattern)) return 'must be a regular expression.';
    try {
      compileLinear(pattern);
      return undefined;
    } catch (error) {
      if (!(error instanceof InexpressiblePattern)) throw error;
      return `must be a regular expression that can be matched in linear time (RE2 syntax); this one ${error.message}.`;
    }
  });
}

const test = new Script('pattern.test(text)');
const sandbox: { pattern: RegExp; text: string } = { pattern: /^$/, text: '' };
const context = createContext(sandbox);

/** Matches with V8's engine within `timeoutMs`. */
function matchBacktracking(pattern: RegExp, text: string, timeoutMs: number): PatternVerdict {
  if (timeoutMs < 1) return 'late';
  sandbox.pattern = pattern;
  sandbox.text = text;
  try {
    return test.runInContext(context, { timeout: Math.ceil(timeoutMs) }) === true ? 'matches' : 'differs';
  } catch {
    return 'late';
  }
}

/** Matches the texts of one submission. Runs in a worker thread that has a time limit. */
export function checkPatterns(checks: readonly PatternCheck[]): PatternVerdict[] {
  let leftMs = BACKTRACKING_MS;
  return checks.map(({ pattern, text }) => {
    const expression = compile(pattern);
    if (expression instanceof RE2JS) return expression.testExact(text) ? 'matches' : 'differs';
    const since = performance.now();
    const verdict = matchBacktracking(expression, text, leftMs);
    leftMs -= performance.now() - since;
    return verdict;
  });
}
