import { hasInfinity } from '@commonplace/kit/json';
import { isTextTooDeep } from './nesting.js';

/** The value of JSON that a model has written, or why there is none. */
export type ModelJson = { readonly value: unknown } | { readonly fault: 'syntax' | 'depth' | 'number' };

/**
 * Reads JSON that a model has written, as strictly as that of requests: numbers that are too large would be checked as
 * infinite, and stored and sent as null.
 */
export function readModelJson(text: string): ModelJson {
  if (isTextTooDeep(text)) return { fault: 'depth' };
  try {
    const value: unknown = JSON.parse(text);
    return hasInfinity(value) ? { fault: 'number' } : { value };
  } catch {
    return { fault: 'syntax' };
  }
}
