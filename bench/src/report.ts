import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { beside, type Figures } from './measure.js';
import type { Options } from './options.js';
import { type Check, isMet, type Row } from './row.js';

export type Outcome =
  | { readonly name: string; readonly title: string; readonly row: Row }
  | { readonly name: string; readonly title: string; readonly skipped: string }
  | { readonly name: string; readonly title: string; readonly failed: string };

/** Fraction of a core above which the generator was the bottleneck, not the server. */
const GENERATOR_LIMIT = 0.9;

/** Formats the result of a row for people. */
export function linesOf(outcome: Outcome): string[] {
  const title = `${outcome.name}  ${outcome.title}`;
  if ('skipped' in outcome) return [title, `   skipped: ${outcome.skipped}`];
  if ('failed' in outcome) return [title, `   could not be run: ${outcome.failed}`];
  const { figures, checks, notes = [], table = [] } = outcome.row;
  return [
    title,
    ...notes.map((note) => `   (${note})`),
    ...figures.map((one) => `   ${figuresLine(one)}`),
    ...figures.filter(({ generatorBusy }) => generatorBusy > GENERATOR_LIMIT).map(generatorLine),
    ...checks.map((check) => `   ${checkLine(check)}`),
    ...cpuLines(figures),
    ...table,
  ];
}

/** Describes the machine and its load average of the last minute. */
export function machineLine(): string {
  const [cpu] = cpus();
  return `${cpus().length} cores (${cpu?.model}), Node.js ${process.version}, load ${loadavg()[0]?.toFixed(1)}`;
}

/** Heading above the lines of figures. */
export const HEADING = `${' '.repeat(37)}${['requests/s', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU ms/1,000'].map(right).join('')}`;

function figuresLine({ name, requestsPerSecond, p50, p95, p99, cpuPer1000 }: Figures): string {
  const cells = [Math.round(requestsPerSecond).toLocaleString('en'), ...[p50, p95, p99, cpuPer1000].map(short)];
  return `${name.padEnd(34)}${cells.map(right).join('')}`;
}

function generatorLine({ name, generatorBusy }: Figures): string {
  return `   the load generator took ${Math.round(generatorBusy * 100)} % of a core: ${name} may be faster than this`;
}

/** Returns the processor time relative to the limit. Other work on the machine disturbs it less than the speed. */
function cpuLines([subject, limit]: readonly Figures[]): string[] {
  if (subject === undefined || limit === undefined) return [];
  return [
    `   → processor time beside ${limit.name}: ${beside(subject, limit, (round) => round.cpuPer1000).toFixed(1)} ×`,
  ];
}

function checkLine(check: Check): string {
  const { what, value, unit, right: side, floor, aim } = check;
  const text = (bound: number) => `${side} ${inUnit(bound, unit)} ${isMet(check, bound) ? 'met' : 'MISSED'}`;
  return `→ ${what}: ${inUnit(value, unit)}; ${text(floor)}${aim === undefined ? '' : `, aim ${text(aim)}`}`;
}

function inUnit(value: number, unit: Check['unit']): string {
  const digits = unit === 'MB' || unit === '/s' ? Math.round(value).toLocaleString('en') : value.toFixed(2);
  return unit === '' || unit === '/s' ? digits + unit : `${digits} ${unit}`;
}

function right(cell: string): string {
  return cell.padStart(14);
}

function short(value: number): string {
  return value.toFixed(value < 100 ? 2 : 0);
}

/** Writes all measurements to a file below `bench/results`. Returns its path. */
export function writeResults(outcomes: readonly Outcome[], { only, ...options }: Options): string {
  const folder = join(ROOT, 'bench/results');
  mkdirSync(folder, { recursive: true });
  const date = new Date().toISOString();
  const [cpu] = cpus();
  const machine = { cpu: cpu?.model, cores: cpus().length, node: process.version, load: loadavg() };
  const rows = outcomes.map((outcome) => {
    if (!('row' in outcome)) return outcome;
    const { row, ...rest } = outcome;
    return { ...rest, ...row, checks: row.checks.map((check) => ({ ...check, met: isMet(check, check.floor) })) };
  });
  const file = join(folder, `${date.replaceAll(':', '-')}.json`);
  writeFileSync(
    file,
    `${JSON.stringify({ date, machine, options: { ...options, only: [...(only ?? [])] }, rows }, null, 2)}\n`,
  );
  return file;
}
