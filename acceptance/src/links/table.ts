import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../system.js';
import { isGood, type Outcome } from './probes.js';

const PAGE = join(ROOT, 'docs/operations.md');
const [BEGIN, END] = ['<!-- made by acceptance/test/services-gone.test.ts -->', '<!-- end -->'];

/** Outcomes of all requests without one service, by the name of that service. */
type Gone = ReadonlyMap<string, readonly Outcome[]>;

/**
 * Renders the table of what works without each service. It has a row for each request and a column for each service.
 */
export function tableOf(gone: Gone): string {
  const services = [...gone.keys()];
  const [first = []] = gone.values();
  const requests = [...new Set(first.map(({ probe }) => probe.name))];
  const rows = requests.map((name) => [
    `\`${name}\``,
    ...services.map((service) => cellOf((gone.get(service) ?? []).filter(({ probe }) => probe.name === name))),
  ]);
  return tableText([['without', ...services], ...rows]);
}

function cellOf(outcomes: readonly Outcome[]): string {
  return outcomes.every(isGood) ? '✓' : '503';
}

/** Formats rows as Markdown with columns of equal width. */
function tableText([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** Returns the table in the operations page. */
export async function documentedTable(): Promise<string> {
  const text = await readFile(PAGE, 'utf8');
  return text.slice(text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)).trim();
}

/** Writes the table to the operations page. */
export async function documentTable(table: string): Promise<void> {
  const text = await readFile(PAGE, 'utf8');
  const [from, to] = [text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)];
  await writeFile(PAGE, `${text.slice(0, from)}\n\n${table}\n\n${text.slice(to)}`);
}
