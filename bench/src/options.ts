import { parseArgs } from 'node:util';

export interface Options {
  /** Numbers of the rows to run. */
  readonly only: ReadonlySet<number>;
  readonly rounds: number;
  /** Seconds of one round of one contestant. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** Number of resources in the large workspace. */
  readonly many: number;
  /** Whether to start the servers of a mesh. */
  readonly mesh: boolean;
}

/** Number of rounds. Many short rounds in turns expose all contestants equally to other work on the machine. */
const ROUNDS = 9;

export const ROW_NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20] as const;

const USAGE = `npm run bench -- [--only 1,3] [--seconds N] [--quick] [--mesh]

  --only 1,3    only these rows
  --seconds N   of each of nine rounds (2)
  --quick       one round of 2 s, and 10,000 resources rather than 100,000
  --mesh        starts MongoDB's and NATS' servers for row 2`;

/** Parses the command line. Prints the usage and ends the process if it is invalid. */
export function readOptions(args: readonly string[]): Options {
  try {
    return parse(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(64);
  }
}

function parse(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      mesh: { type: 'boolean', default: false },
    },
  });
  const { quick, mesh } = values;
  const seconds = wholeNumber(values.seconds ?? '2');
  const only = new Set(values.only?.split(',').map(wholeNumber) ?? ROW_NUMBERS);
  for (const number of only) {
    if (!(ROW_NUMBERS as readonly number[]).includes(number)) throw new Error(`There is no row ${number}.`);
  }
  return {
    only,
    seconds,
    mesh,
    rounds: quick ? 1 : ROUNDS,
    warmUpSeconds: quick ? 1 : 2,
    many: quick ? 10_000 : 100_000,
  };
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new Error(`${JSON.stringify(text)} is not a number above 0.`);
  return Number(text);
}
