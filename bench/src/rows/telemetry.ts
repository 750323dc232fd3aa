import { type Collector, startCollector } from '@commonplace/acceptance/dist/src/collector.js';
import { freePort } from '@commonplace/acceptance/dist/src/system.js';
import type { Bench, Measured } from '../bench.js';
import { createResource, createWorkspace, sentence } from '../fill.js';
import { beside, type Contestant, compare, type Figures } from '../measure.js';
import { residentMiB } from '../processes.js';
import type { Check, Row } from '../row.js';

/**
 * What traces and metrics cost, in processor time of the same request: without them, with a collector that takes
 * one request in ten, and with one that is dead.
 */
export async function measureTelemetry(bench: Bench): Promise<Row> {
  const collector = await startCollector();
  const dead = `http://127.0.0.1:${await freePort()}`;
  const started: Measured[] = [];
  const start = async (name: string, settings: Readonly<Record<string, string>>): Promise<Contestant> => {
    const measured = await bench.start(name, { settings });
    started.push(measured);
    return contestantOf(name, measured);
  };
  try {
    const off = await start('telemetry off', {});
    const on = await start('telemetry on, 10 % traced', { COMMONPLACE_OTLP_URL: collector.url });
    const lost = await start('telemetry on, dead collector', { COMMONPLACE_OTLP_URL: dead });
    const figures = await compare([off, on, lost], bench.pace, bench.say);
    return {
      figures,
      checks: [costOf(figures, 1, 1.15), costOf(figures, 2, 1.1)],
      notes: [spansOf(collector), memoryOf([off, on, lost])],
    };
  } finally {
    for (const { subject } of started) await subject.stop();
    await collector.close();
  }
}

async function contestantOf(name: string, { client, subject }: Measured): Promise<Contestant> {
  const workspaceId = await createWorkspace(client, 'Reading');
  const content = sentence(1, 100);
  const id = await createResource(client, { type: 'document', name: 'Read me', workspace_id: workspaceId, content });
  return { subject: { ...subject, name }, requests: [{ method: 'GET', path: `/api/v1/resources/${id}` }] };
}

function costOf(figures: readonly Figures[], at: number, aim: number): Check {
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
