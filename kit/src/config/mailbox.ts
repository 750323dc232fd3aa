import { shaped } from './shapes.js';

const ADDRESS = '[^\\s@<>]+@[^\\s@<>]+';

/** Parses an e-mail address. */
export const emailAddress = matching(ADDRESS, 'must be an e-mail address');

/** Parses an e-mail address with or without a name: `Wiki <wiki@example.com>`. */
export const mailbox = matching(
  `(${ADDRESS}|[^<>\\r\\n]*<${ADDRESS}>)`,
  'must be an e-mail address, or: Name <address>',
);

function matching(pattern: string, problem: string) {
  const whole = new RegExp(`^${pattern}$`);
  return shaped({ kind: 'text', pattern }, (value: string): string => {
    if (!whole.test(value)) throw new Error(problem);
    return value;
  });
}
