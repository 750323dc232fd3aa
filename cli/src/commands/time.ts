import { InvalidArgumentError } from 'commander';

/** Matches a day, or a time with its offset; other texts mean different times on different machines. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i;

/** Reads the value of an option: a day, which begins at midnight UTC, or a time. Returns it in UTC. */
export function parseTime(text: string): string {
  const day = text.slice(0, 10);
  const time = Date.parse(text.toUpperCase());
  // `Date.parse` accepts 30 February as a day in March.
  if (TIME.test(text) && !Number.isNaN(time) && new Date(day).toISOString().startsWith(day))
    return new Date(time).toISOString();
  throw new InvalidArgumentError('It must be a time, such as 2027-01-31 or 2027-01-31T12:00:00Z.');
}
