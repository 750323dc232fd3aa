import { shaped } from '@commonplace/kit/config';

const OFF = 0;
const ALL = 1;

/** Parses the share of requests that are logged: `off`, `on`, or a number from 0 to 1. */
export const parseAccessLog = shaped(
  { kind: 'text', pattern: 'off|on|0(\\.[0-9]+)?|1(\\.0+)?' },
  (value: string): number => {
    if (value === 'off') return OFF;
    if (value === 'on') return ALL;
    const share = Number(value);
    if (value.trim() === '' || !(share >= OFF && share <= ALL))
      throw new Error('must be off, on, or a number from 0 to 1');
    return share;
  },
);
