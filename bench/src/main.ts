// Runs the benchmarks and compares them with the limits of the libraries they use. Missed floors are reported, never
// asserted: the exit code is 1 only if something could not be run.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { type Bench, createBench } from './bench.js';
import { type Options, readOptions } from './options.js';
import { HEADING, linesOf, machineLine, type Outcome, writeResults } from './report.js';
import { type Row, Skipped } from './row.js';
import { measureAccessLog } from './rows/access-log.js';
import { measureAutomations } from './rows/automations.js';
import { measureConversations } from './rows/conversations.js';
import { measureCreate } from './rows/create.js';
import { measureDepth } from './rows/depth.js';
import { measureEvents } from './rows/events.js';
import { measureFiles } from './rows/files.js';
import { measureFolder } from './rows/folder.js';
import { measureForm } from './rows/form.js';
import { measureImport } from './rows/import.js';
import { measureList } from './rows/list.js';
import { measureMessages } from './rows/messages.js';
import { measureProcess } from './rows/process.js';
import { measurePublished } from './rows/published.js';
import { measureMeshRead, measureRead } from './rows/read.js';
import { measureRuns } from './rows/runs.js';
import { measureSearch } from './rows/search.js';
import { measureTablePage } from './rows/table.js';
import { measureTelemetry } from './rows/telemetry.js';

const ROWS: readonly { readonly title: string; measure(bench: Bench): Promise<Row> }[] = [
  { title: 'embedded: GET one resource', measure: measureRead },
  { title: 'mesh: GET one resource', measure: measureMeshRead },
  { title: 'embedded: create a document, synced', measure: measureCreate },
  { title: 'embedded: list 50 of a workspace with the total', measure: measureList },
  { title: 'embedded: keyword search, 10 hits with highlights', measure: measureSearch },
  { title: 'embedded: start and memory', measure: measureProcess },
  { title: 'embedded: a page of 100 of 200,000 rows by filter and sort', measure: measureTablePage },
  { title: 'embedded: GET a resource at depth 32 below grants', measure: measureDepth },
  { title: 'embedded: list 50 of a folder of 10,000', measure: measureFolder },
  { title: 'embedded: upload and download of files', measure: measureFiles },
  { title: 'embedded: import of a handbook', measure: measureImport },
  { title: 'embedded: a form’s submission, synced', measure: measureForm },
  { title: 'embedded: a published page, as it was rendered', measure: measurePublished },
  { title: 'embedded: GET one resource, with and without telemetry', measure: measureTelemetry },
  { title: 'embedded: runs, beside their model called directly', measure: measureRuns },
  { title: 'embedded: streams of events to a thousand readers', measure: measureEvents },
  { title: 'embedded: automations: runs a second, and from an event to its run', measure: measureAutomations },
  { title: 'embedded: GET one resource, with and without the access log', measure: measureAccessLog },
  { title: 'embedded: messages into one conversation, to a thousand readers', measure: measureMessages },
  { title: 'embedded: list 50 of 10,000 conversations with all that is unread', measure: measureConversations },
];

const say = (line: string) => process.stderr.write(`  … ${line}\n`);

async function main(options: Options): Promise<boolean> {
  const bench = createBench(options, say);
  const outcomes: Outcome[] = [];
  const stop = () => void bench.close().finally(() => process.exit(130));
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  console.log(`${machineLine()}\n${HEADING}`);
  try {
    for (const [i, { title, measure }] of ROWS.entries()) {
      if (!options.only.has(i + 1)) continue;
      say(title);
      const outcome = await outcomeOf(i + 1, title, () => measure(bench));
      outcomes.push(outcome);
      console.log(linesOf(outcome).join('\n'));
    }
  } finally {
    await bench.close();
  }
  console.log(`\nWritten to ${writeResults(outcomes, options)}`);
  return outcomes.every((outcome) => !('failed' in outcome));
}

async function outcomeOf(number: number, title: string, measure: () => Promise<Row>): Promise<Outcome> {
  try {
    return { number, title, row: await measure() };
  } catch (error) {
    if (error instanceof Skipped) return { number, title, skipped: error.message };
    return { number, title, failed: error instanceof Error ? error.message : String(error) };
  }
}

/** Runs the same command with MongoDB and NATS servers. Returns whether it succeeded. */
function mainWithServers(args: readonly string[]): Promise<boolean> {
  const script = join(ROOT, 'scripts/with-servers.mjs');
  const own = [process.execPath, join(ROOT, 'bench/dist/src/main.js'), ...args.filter((arg) => arg !== '--mesh')];
  const child = spawn(process.execPath, [script, ...own], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code === 0));
  });
}

const args = process.argv.slice(2);
const options = readOptions(args);
const ok = await (options.mesh ? mainWithServers(args) : main(options));
process.exit(ok ? 0 : 1);
