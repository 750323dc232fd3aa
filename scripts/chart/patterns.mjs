// Provides patterns for values in the syntax that JavaScript and RE2 share. Helm checks schemas with RE2, which has no
// lookaheads.

/** Returns a pattern that matches exactly the integers from `min` to `max`, in digits. */
export function rangePattern(min, max) {
  if (min < 0) {
    const negative = `-(${rangePattern(Math.max(1, -max), -min)})`;
    return max < 0 ? negative : `${negative}|${rangePattern(0, max)}`;
  }
  const [low, high] = [String(min), BigInt(max).toString()];
  const parts = [];
  for (let length = low.length; length <= high.length; length++) {
    const first = length === low.length ? low : `1${'0'.repeat(length - 1)}`;
    const last = length === high.length ? high : '9'.repeat(length);
    parts.push(sameLength(first, last));
  }
  return parts.join('|');
}

/** Returns a pattern for the numbers between two numbers of the same length. */
function sameLength(first, last) {
  if (first === last) return first;
  if (/^0*$/.test(first) && /^9*$/.test(last)) return digits(first.length);
  if (first.length === 1) return `[${first}-${last}]`;
  const [a, b] = [Number(first[0]), Number(last[0])];
  const [restA, restB] = [first.slice(1), last.slice(1)];
  if (a === b) return `${a}(${sameLength(restA, restB)})`;
  const isFromZero = /^0*$/.test(restA);
  const isToNine = /^9*$/.test(restB);
  const [from, to] = [isFromZero ? a : a + 1, isToNine ? b : b - 1];
  return [
    ...(isFromZero ? [] : [`${a}(${sameLength(restA, '9'.repeat(restA.length))})`]),
    ...(from > to ? [] : [`${from === to ? from : `[${from}-${to}]`}${digits(restA.length)}`]),
    ...(isToNine ? [] : [`${b}(${sameLength('0'.repeat(restB.length), restB)})`]),
  ].join('|');
}

const digits = (count) => (count === 0 ? '' : count === 1 ? '[0-9]' : `[0-9]{${count}}`);

/** Returns a pattern that matches a word in any case. */
export const anyCase = (word) => word.replace(/[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`);

const LABEL = '[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?';
const HOST = `(${LABEL}(\\.${LABEL})*\\.?|\\[[0-9A-Fa-f:.]+\\])`;
const PORT = `(:(${rangePattern(1, 65_535)}))?`;
/** Matches the host of a URL with its port. */
export const AUTHORITY = `${HOST}${PORT}`;
/** Matches a comma-separated list of hosts with their ports. */
export const AUTHORITIES = `${AUTHORITY}(,${AUTHORITY})*`;

/** Returns a pattern for URLs without credentials. */
export const urlPattern = (...schemes) => `(${schemes.join('|').replaceAll('+', '\\+')})://${AUTHORITY}([/?#][^\\s]*)?`;

/** Matches an http URL on a loopback address. */
export const LOOPBACK_URL = `http://(localhost|127(\\.[0-9]{1,3}){3}|\\[::1\\])${PORT}([/?#][^@\\s]*)?`;
