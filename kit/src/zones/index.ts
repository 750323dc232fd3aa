/**
 * Conversion between instants and local times. A local time is what clocks in a zone show, in milliseconds as if they
 * showed UTC.
 */

const DAY_MS = 86_400_000;
const MAX_KEPT = 1_000;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timezone: string): Intl.DateTimeFormat {
  const known = formats.get(timezone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset', year: 'numeric' });
  if (formats.size >= MAX_KEPT) formats.clear();
  formats.set(timezone, format);
  return format;
}

/** Returns a zone's offset from UTC at an instant, in milliseconds. */
function offsetAt(timezone: string, instant: number): number {
  const name = formatOf(timezone).format(instant);
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /GMT([+-])(\d+):(\d+)(?::(\d+))?/.exec(name) ?? [];
  const size = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -size : size;
}

/** Returns the local time at an instant. */
export const toLocal = (timezone: string, instant: number): number => instant + offsetAt(timezone, instant);

/**
 * Returns the instant at which clocks show a local time: the first one if they show it twice, and the first moment
 * after the clock change if they skip it.
 */
export function toInstant(timezone: string, local: number): number {
  const before = offsetAt(timezone, local - DAY_MS);
  const after = offsetAt(timezone, local + DAY_MS);
  // The greater offset gives the earlier instant.
  const candidates = [local - Math.max(before, after), local - Math.min(before, after)] as const;
  const shown = candidates.find((instant) => toLocal(timezone, instant) === local);
  return shown ?? firstAfterGap(timezone, local, candidates[0], candidates[1]);
}

/** Returns the first instant between `from` and `to`, to the second, at which clocks are past a local time. */
function firstAfterGap(timezone: string, local: number, from: number, to: number): number {
  let [low, high] = [from / 1000, to / 1000];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (toLocal(timezone, middle * 1000) > local) high = middle;
    else low = middle;
  }
  return high * 1000;
}
