import { parseJson } from '@commonplace/kit/http';
import { isObject } from '@commonplace/kit/json';
import type { Attrs } from './model.js';

/**
 * Parses JSON from an attribute of Markdown or HTML. Returns undefined if it is no JSON that a request could contain, for
 * example because it is nested too deep: functions that walk through it would overflow the stack.
 */
export function parseAttributeJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Parses an object as `parseAttributeJson` does; undefined if it is another value. */
export function parseAttributeObject(text: string): Attrs | undefined {
  const value = parseAttributeJson(text);
  return isAttrs(value) ? value : undefined;
}

export const isAttrs = (value: unknown): value is Attrs => isObject(value);
