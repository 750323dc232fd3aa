import { type Collector, startCollector } from '@commonplace/acceptance/dist/src/collector.js';
import { freePort } from '@commonplace/acceptance/dist/src/system.js';
import type { Bench, Measured } from '../bench.js';
import { createResource, createWorkspace, sentence } from '../fill.js';
import { beside, type Contestant, compare, type Figures, together } from '../measure.js';
import { residentMiB } from '../processes.js';
import type { Check, Row } from '../row.js';

/**
 * Number of starts of each system. The rounds are distributed among them, because the code that V8 compiles differs
 * between starts by up to a tenth of the cost of a request.
 */
const STARTS = 3;

/**
 * Measures the processor time of traces and metrics per request: without them, with a collector and one request in ten
 * traced, and with a collector that does not answer.
 */
export async function measureTelemetry(bench: Bench): Promise<Row> {
  const collector = await startCollector();
  const dead = `http://127.0.0.1:${await freePort()}`;
  const comparisons: Figures[][] = [];
  let memory = '';
  try {
    for (let number = 1; number <= STARTS; number++) {
      const run = await compareOnce(bench, number, collector.url, dead);
      comparisons.push(run.figures);
      memory = run.memory;
    }
    const figures = together(comparisons);
    return {
      figures,
      checks: [costOf(figures, 1, 1.15), costOf(figures, 2, 1.1)],
      notes: [spansOf(collector), memory],
    };
  } finally {
    await collector.close();
  }
}

/** Starts and compares the three systems once. Returns the figures and the memory used at the end. */
async function compareOnce(bench: Bench, number: number, collector: string, dead: string) {
  const started: Measured[] = [];
  const start = async (name: string, settings: Readonly<Record<string, string>>): Promise<Contestant> => {
    const measured = await bench.start(`${name} ${number}`, { settings });
    started.push(measured);
    return contestantOf(name, measured);
  };
  try {
    const off = await start('telemetry off', {});
    const on = await start('telemetry on, 10 % traced', { COMMONPLACE_OTLP_URL: collector });
    const lost = await start('telemetry on, dead collector', { COMMONPLACE_OTLP_URL: dead });
    const contestants = [off, on, lost];
    const rounds = Math.ceil(bench.pace.rounds / STARTS);
    const figures = await compare(contestants, { ...bench.pace, rounds }, bench.say);
    return { figures, memory: memoryOf(contestants) };
  } finally {
    for (const { subject } of started) await subject.stop();
  }
}

/** Creates a contestant that reads one document of a system. */
export async function contestantOf(name: string, { client, subject }: Measured): Promise<Contestant> {
  const workspaceId = await createWorkspace(client, 'Reading');
  const content = sentence(1, 100);
  const id = await createResource(client, { type: 'document', name: 'Read me', workspace_id: workspaceId, content });
  return { subject: { ...subject, name }, requests: [{ method: 'GET', path: `/api/v1/resources/${id}` }] };
}

/** Returns the check of a contestant's processor time relative to the first contestant. */
export function costOf(figures: readonly Figures[], at: number, aim: number): Check {
  const [off, other] = [figures[0], figures[at]];
  if (off === undefined || other === undefined) throw new Error('Nothing to compare with.');
  const value = beside(other, off, (round) => round.cpuPer1000);
  return { what: `processor time, ${other.name}, beside off`, value, unit: '×', right: 'at most', floor: 1.25, aim };
}

function spansOf({ spans }: Collector): string {
  return `the collector took ${spans.length.toLocaleString('en')} spans`;
}

function memoryOf(contestants: readonly Contestant[]): string {
  const held = contestants.map(({ subject }) =>
    Math.round(subject.pids().reduce((sum, pid) => sum + residentMiB(pid), 0)),
  );
  return `${held.join(', ')} MB at the end`;
}
