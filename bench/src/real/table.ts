import { beside, type Figures } from '../measure.js';
import type { Work } from './works.js';

const HEADINGS = ['work', 'requests/s', 'of the limit', 'CPU ms', 'p50 ms', 'p95 ms', 'floor', 'aim'];

/**
 * Renders a Markdown table with a line for each work, its figures and its ratio to `limit`. `figures` has the order of
 * `works`.
 */
export function tableOf(works: readonly Work[], figures: readonly Figures[], limit: Figures): string[] {
  const lines = works.map(({ name, floor, aim }, i) => {
    const one = figures[i];
    return one === undefined ? [name] : cellsOf(name, one, ratioTo(one, limit), floor, aim);
  });
  const all = [HEADINGS, HEADINGS.map(() => '---'), cellsOf(limit.name, limit, 1), ...lines];
  return all.map((cells) => `| ${cells.join(' | ')} |`);
}

export function ratioTo(one: Figures, limit: Figures): number {
  return beside(one, limit, (round) => round.requestsPerSecond);
}

function cellsOf(name: string, one: Figures, ratio: number, floor?: number, aim?: number): string[] {
  const { requestsPerSecond, cpuPer1000, p50, p95 } = one;
  const bounds = [floor, aim].map((bound) => (bound === undefined ? '' : String(bound)));
  const measured = [Math.round(requestsPerSecond).toLocaleString('en'), significant(ratio)];
  return [name, ...measured, (cpuPer1000 / 1000).toFixed(2), p50.toFixed(1), p95.toFixed(1), ...bounds];
}

function significant(value: number): string {
  return value < 0.02 ? value.toFixed(4) : value.toFixed(3);
}
