// Runs the benchmarks and compares them with the limits of the libraries that they use. Missed floors are only
// reported: the exit code is 1 only if a benchmark could not run.
import { type Bench, createBench } from './bench.js';
import { type Options, readOptions } from './options.js';
import { HEADING, linesOf, machineLine, type Outcome, writeResults } from './report.js';
import { type Row, Skipped } from './row.js';
import { measureAccessLog } from './rows/access-log.js';
import { measureAutomations } from './rows/automations.js';
import { measureConversations } from './rows/conversations.js';
import { measureDepth } from './rows/depth.js';
import { measureEvents } from './rows/events.js';
import { measureFiles } from './rows/files.js';
import { measureFolder } from './rows/folder.js';
import { measureForm } from './rows/form.js';
import { measureHeld } from './rows/held.js';
import { measureImport } from './rows/import.js';
import { measureList } from './rows/list.js';
import { measureMessages } from './rows/messages.js';
import { measureProcess } from './rows/process.js';
import { measurePublished } from './rows/published.js';
import { measureReal } from './rows/real.js';
import { measureRealMesh } from './rows/real-mesh.js';
import { measureRuns } from './rows/runs.js';
import { measureScaleOut } from './rows/scale-out.js';
import { measureTablePage } from './rows/table.js';
import { measureTelemetry } from './rows/telemetry.js';

const ROWS: readonly { readonly name: string; readonly title: string; measure(bench: Bench): Promise<Row> }[] = [
  { name: 'real', title: 'embedded: what users do, on real pages', measure: measureReal },
  { name: 'real-mesh', title: 'mesh: what users do, on real pages', measure: measureRealMesh },
  { name: 'scale-out', title: 'mesh: a request on 1, 2 and 4 replicas of everything', measure: measureScaleOut },
  {
    name: 'held',
    title: 'embedded: what others wait for while one Org asks for what takes long',
    measure: measureHeld,
  },
  { name: 'list', title: 'embedded: list 50 of a workspace with the total', measure: measureList },
  { name: 'process', title: 'embedded: start and memory', measure: measureProcess },
  { name: 'table', title: 'embedded: a page of 100 of 200,000 rows by filter and sort', measure: measureTablePage },
  { name: 'depth', title: 'embedded: GET a resource at depth 32 below grants', measure: measureDepth },
  { name: 'folder', title: 'embedded: list 50 of a folder of 10,000', measure: measureFolder },
  { name: 'files', title: 'embedded: upload and download of files', measure: measureFiles },
  { name: 'import', title: 'embedded: import of a handbook', measure: measureImport },
  { name: 'form', title: 'embedded: a form’s submission, synced', measure: measureForm },
  { name: 'published', title: 'embedded: a published page, as it was rendered', measure: measurePublished },
  { name: 'telemetry', title: 'embedded: GET one resource, with and without telemetry', measure: measureTelemetry },
  { name: 'runs', title: 'embedded: runs, beside their model called directly', measure: measureRuns },
  { name: 'events', title: 'embedded: streams of events to a thousand readers', measure: measureEvents },
  {
    name: 'automations',
    title: 'embedded: automations: runs a second, and from an event to its run',
    measure: measureAutomations,
  },
  {
    name: 'access-log',
    title: 'embedded: GET one resource, with and without the access log',
    measure: measureAccessLog,
  },
  {
    name: 'messages',
    title: 'embedded: messages into one conversation, to a thousand readers',
    measure: measureMessages,
  },
  {
    name: 'conversations',
    title: 'embedded: list 50 of 10,000 conversations with all that is unread',
    measure: measureConversations,
  },
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
    for (const { name, title, measure } of ROWS) {
      if (options.only?.has(name) === false) continue;
      say(title);
      const outcome = await outcomeOf(name, title, () => measure(bench));
      outcomes.push(outcome);
      console.log(linesOf(outcome).join('\n'));
    }
  } finally {
    await bench.close();
  }
  console.log(`\nWritten to ${writeResults(outcomes, options)}`);
  return outcomes.every((outcome) => !('failed' in outcome));
}

async function outcomeOf(name: string, title: string, measure: () => Promise<Row>): Promise<Outcome> {
  try {
    return { name, title, row: await measure() };
  } catch (error) {
    if (error instanceof Skipped) return { name, title, skipped: error.message };
    return { name, title, failed: error instanceof Error ? error.message : String(error) };
  }
}

const options = readOptions(
  process.argv.slice(2),
  ROWS.map(({ name }) => name),
);
process.exit((await main(options)) ? 0 : 1);
