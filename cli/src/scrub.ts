import { allTables } from './settings.js';

const MIN_SECRET_LENGTH = 4;
const FOREIGN = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];

/** Replaces every secret from the settings in a value, at any depth. */
type Scrub = <T>(value: T) => T;

/** Creates a function that hides secrets. `more` contains further values to hide. */
export function createScrub(env: NodeJS.ProcessEnv, more: readonly string[] = []): Scrub {
  const variables = Object.values(allTables).flatMap((table) =>
    Object.values(table).flatMap(({ variable, secret }) => (secret === true ? [variable] : [])),
  );
  const values = [...variables, ...FOREIGN].map((name) => env[name] ?? '').concat(more);
  // Longer secrets come first, so that replacing a shorter one does not leave parts of a longer one visible.
  const hidden = [...new Set(values.flatMap(partsOf))].filter((part) => part.length >= MIN_SECRET_LENGTH);
  hidden.sort((a, b) => b.length - a.length);
  const scrubText = (text: string) => hidden.reduce((clean, part) => clean.replaceAll(part, '***'), text);
  const scrub = (value: unknown): unknown => {
    if (typeof value === 'string') return scrubText(value);
    if (Array.isArray(value)) return value.map(scrub);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [scrubText(key), scrub(inner)]));
  };
  return scrub as Scrub;
}

/**
 * Returns a value, its comma-separated parts, and the passwords and tokens before the @ of URLs. The name of a user is no
 * secret, and would often hide parts of results: most installations call theirs as the product.
 */
function partsOf(value: string): string[] {
  const parts = [value, ...value.split(',').map((part) => part.trim())];
  const secrets = [...value.matchAll(/:\/\/(?:[^@/:]*:)?([^@/]*)@/g)].map(([, secret = '']) => secret);
  return [...parts, ...secrets, ...secrets.map(decoded)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
