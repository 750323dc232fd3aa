import type { Redirect } from './links.js';

const KEYS: ReadonlySet<string> = new Set(['href', 'src', 'url']);

/** Returns document JSON with its links redirected. */
export function redirectJson(value: unknown, redirect: Redirect): unknown {
  if (Array.isArray(value)) return value.map((one) => redirectJson(one, redirect));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const to = KEYS.has(key) && typeof one === 'string' ? redirect(one) : undefined;
      return [key, to ?? redirectJson(one, redirect)];
    }),
  );
}
