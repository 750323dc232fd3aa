import { parseArgs } from 'node:util';

export interface Options {
  /** Names of the rows to run; undefined means all. */
  readonly only: ReadonlySet<string> | undefined;
  /** Groups of work that the row `real` measures. */
  readonly work: ReadonlySet<string>;
  /** Embeddings of the system that the row `real` reads and searches. */
  readonly embeddings: 'local' | 'off';
  /** Maximum number of pages in the rows `real`, `real-mesh` and `scale-out`. */
  readonly pages: number;
  readonly rounds: number;
  /** Duration of one round of one contestant in seconds. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** Number of resources in the large workspace. */
  readonly many: number;
  /** Whether to start the servers of a mesh. */
  readonly mesh: boolean;
}

/** Number of rounds. With many short rounds in turns, other work on the machine affects all contestants equally. */
const ROUNDS = 9;
const QUICK_ROUNDS = 3;

/** Groups of work of the row `real`. */
const WORK: readonly string[] = ['reads', 'searches', 'embedding', 'writes', 'workspaces', 'names'];

const USAGE = `npm run bench -- [--only real,list] [--work TEXT] [--seconds N] [--rounds N] [--quick] [--mesh]

  --only real,list  run only these rows
  --work reads,…    run only these groups of the row real: reads, searches, embedding, writes, workspaces, names
  --no-embeddings   measure the row real without embeddings, for a quick look at reads
  --pages N         pages in the rows real, real-mesh and scale-out (2000)
  --many N          resources in the large workspace (100000)
  --seconds N       duration of each round (2)
  --rounds N        rounds of each contestant (9)
  --quick           three rounds, 300 pages, and 10,000 resources instead of 100,000
  --mesh            start the servers of the rows real-mesh and scale-out`;

/**
 * Parses the command line. `rows` contains the names that `--only` accepts. If it is invalid, prints the usage and ends
 * the process.
 */
export function readOptions(args: readonly string[], rows: readonly string[]): Options {
  try {
    return parse(args, rows);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(64);
  }
}

function parse(args: readonly string[], rows: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      work: { type: 'string' },
      pages: { type: 'string' },
      many: { type: 'string' },
      'no-embeddings': { type: 'boolean', default: false },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      mesh: { type: 'boolean', default: false },
    },
  });
  const { quick, mesh } = values;
  const only = values.only === undefined ? undefined : new Set(values.only.split(','));
  for (const name of only ?? []) {
    if (!rows.includes(name)) throw new Error(`There is no row ${name}; there are ${rows.join(', ')}.`);
  }
  const work = new Set(values.work?.split(',') ?? WORK);
  for (const name of work) {
    if (!WORK.includes(name)) throw new Error(`There is no work ${name}; there are ${WORK.join(', ')}.`);
  }
  return {
    only,
    work,
    embeddings: values['no-embeddings'] ? 'off' : 'local',
    mesh,
    seconds: wholeNumber(values.seconds ?? '2'),
    rounds: values.rounds === undefined ? (quick ? QUICK_ROUNDS : ROUNDS) : wholeNumber(values.rounds),
    warmUpSeconds: quick ? 1 : 2,
    many: values.many === undefined ? (quick ? 10_000 : 100_000) : wholeNumber(values.many),
    pages: values.pages === undefined ? (quick ? 300 : 2_000) : wholeNumber(values.pages),
  };
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new Error(`${JSON.stringify(text)} is not a number above 0.`);
  return Number(text);
}
