// Tests crashes of the embedded system under concurrent writes: after kill -9 and a restart, nothing that was
// acknowledged may be missing, incomplete or duplicated. Also tests its memory during a large import. The exit code is
// 1 if anything is lost.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { openClient } from './http.js';
import { wholeNumber } from './options.js';
import { soakPower } from './power/power.js';
import { soakAutomations } from './soak/automations/soak.js';
import { checkIntegrity, openEventLog } from './soak/event-log.js';
import { soakImports } from './soak/imports.js';
import { soakLargeImport } from './soak/imports-large.js';
import { soakLinks } from './soak/links.js';
import { MESH_PARTS, MESH_RATE, MESH_ROUNDS, type MeshRounds, meshRounds, soakMesh } from './soak/mesh/soak.js';
import { type MessageRounds, soakMessages, soakMessagesOnMesh } from './soak/messages/soak.js';
import { readLists } from './soak/read-back.js';
import { type RoundResult, runRound, WRITERS } from './soak/round.js';
import { type RunRounds, soakRuns } from './soak/runs/soak.js';
import { soakSchedules } from './soak/schedules/soak.js';
import { createTally, type Tally } from './soak/tally.js';
import { UPLOAD_SETTINGS, UPLOADERS } from './soak/uploads.js';
import { startSystem } from './system.js';

const ROUNDS = 50;
/** Number of imports to kill in a run with the default number of rounds. */
const IMPORT_ROUNDS = 100;
/** Number of kills of automations, several for each point between their actions. */
const AUTOMATION_ROUNDS = 60;
/**
 * Number of kills under writers of messages, and number of messages per writer. Below, number of messages per writer
 * and kill in a short run.
 */
const MESSAGE_ROUNDS: MessageRounds = { kills: 10, messages: 200 };
const ROUND_MESSAGES = 10;
/** Number of pages in the large archive, which has 2 GB. */
const LARGE_PAGES = 50_000;
/** Number of images of power cuts in a full run. Below, number per round of a short run. */
const IMAGES = 500;
const ROUND_IMAGES = 5;
/** Number of kills of runs at their cut points, of runs under kills, and of cuts of their streams. */
const RUN_ROUNDS: RunRounds = { cuts: 56, runs: 200, streamCuts: 1_000 };
/** Parts that a short run omits unless they are named, because they take long or need servers. */
const LONG_PARTS = ['imports-large', 'links', 'schedules', 'messages', 'messages-mesh', ...MESH_PARTS] as const;
const PARTS = ['writes', 'power', 'imports', 'runs', 'automations', ...LONG_PARTS] as const;
const LONG: ReadonlySet<Part> = new Set(LONG_PARTS);
type Part = (typeof PARTS)[number];

async function soak(rounds: number, home: string, tally: Tally): Promise<void> {
  let system = await startSystem({ home, settings: UPLOAD_SETTINGS });
  const events = openEventLog(home);
  const results: RoundResult[] = [];
  try {
    for (let round = 1; round <= rounds; round++) {
      const started = performance.now();
      const result = await runRound(
        system,
        home,
        events,
        tally,
        results.map(({ uploads }) => uploads),
      );
      system = result.system;
      results.push(result);
      console.log(`round ${round}/${rounds}: ${lineOf(result)}; ${seconds(performance.now() - started)}`);
    }
    const client = openClient(system.baseUrl, system.apiKey, WRITERS);
    const faults = [];
    for (const { ledger } of results) {
      faults.push(...(await readLists(client, ledger.workArea.workspaceId, ledger.documents)));
    }
    client.close();
    tally.check('the lists of all rounds match what was written', faults);
  } finally {
    events.close();
    await system.stop();
  }
  tally.check('the database file is intact', checkIntegrity(home));
  summarise(results);
}

function lineOf({ answered, unanswered, happened, uploads, searchMs, system }: RoundResult): string {
  return (
    `${answered} writes acknowledged, ${unanswered} not (${happened} had happened), ` +
    `${uploads.taken.size} uploads taken, ${UPLOADERS} not, ` +
    `ready after ${Math.round(system.readyMs)} ms, search right after ${Math.round(searchMs)} ms`
  );
}

function summarise(results: readonly RoundResult[]): void {
  const sum = (read: (result: RoundResult) => number) => results.reduce((total, result) => total + read(result), 0);
  const most = (read: (result: RoundResult) => number) => Math.round(Math.max(...results.map(read)));
  console.log(
    `\n${results.length} crashes under ${WRITERS} writers: ${sum(({ answered }) => answered)} writes acknowledged, ` +
      `${sum(({ unanswered }) => unanswered)} not, of which ${sum(({ happened }) => happened)} had happened\n` +
      `${sum(({ uploads }) => uploads.taken.size)} uploads taken, ${UPLOADERS * results.length} cut off\n` +
      `slowest start ${most(({ system }) => system.readyMs)} ms, slowest search ${most(({ searchMs }) => searchMs)} ms`,
  );
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

interface SoakOptions {
  readonly rounds: number;
  readonly importRounds: number;
  readonly linkRounds: number;
  readonly runs: RunRounds;
  readonly images: number;
  readonly automations: number;
  readonly messages: MessageRounds;
  readonly seed: number | undefined;
  readonly pages: number;
  readonly mesh: MeshRounds;
  readonly parts: ReadonlySet<Part>;
}

/** Parses the command line. A run with `--rounds` is short and omits the long parts. */
function parseOptions(): SoakOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { rounds: text, only: text, pages: text, seed: text, rate: text } });
  const rounds = values.rounds === undefined ? undefined : wholeNumber(values.rounds);
  const usual = rounds === undefined ? PARTS : PARTS.filter((part) => !LONG.has(part));
  const parts = new Set(values.only?.split(',').map(partOf) ?? usual);
  const rate = values.rate === undefined ? MESH_RATE : wholeNumber(values.rate);
  return {
    rounds: rounds ?? ROUNDS,
    importRounds: rounds ?? IMPORT_ROUNDS,
    automations: rounds ?? AUTOMATION_ROUNDS,
    messages: rounds === undefined ? MESSAGE_ROUNDS : { kills: rounds, messages: ROUND_MESSAGES * rounds },
    linkRounds: rounds ?? 1,
    runs: rounds === undefined ? RUN_ROUNDS : { cuts: rounds, runs: 8 * rounds, streamCuts: 10 * rounds },
    images: rounds === undefined ? IMAGES : ROUND_IMAGES * rounds,
    seed: values.seed === undefined ? undefined : wholeNumber(values.seed),
    pages: values.pages === undefined ? LARGE_PAGES : wholeNumber(values.pages),
    mesh: meshRounds(parts, rounds, rate),
    parts,
  };
}

function partOf(name: string): Part {
  const part = PARTS.find((one) => one === name);
  if (part === undefined) throw new Error(`There is no part ${name}; there are ${PARTS.join(', ')}.`);
  return part;
}

const USAGE = `npm run soak -- [--rounds N] [--only P,Q] [--pages N] [--seed N] [--rate N]

  --rounds N   a short run (defaults of a full run in parentheses): N crashes under writes (${ROUNDS}),
               killed imports (${IMPORT_ROUNDS}), kills of runs (${RUN_ROUNDS.cuts}) and of automations (${AUTOMATION_ROUNDS}), and
               proportional numbers of images of power cuts (${IMAGES}), runs under kills (${RUN_ROUNDS.runs}) and
               cuts of streams (${RUN_ROUNDS.streamCuts}); long parts run only if they are named: kills under
               writers of messages (${MESSAGE_ROUNDS.kills}); on a mesh: losses of the broker (${MESH_ROUNDS.nats}), kills
               of the store (${MESH_ROUNDS.store}), takeovers (${MESH_ROUNDS.takeover}), kills of one of three processes that
               execute automations (${MESH_ROUNDS['automations-mesh']}), and a fifth as many restarts of every process under
               load (${MESH_ROUNDS.rolling}) and in the middle of runs of agents (${MESH_ROUNDS.agents})
  --only P,Q   run only these parts: ${PARTS.join(', ')}
  --pages N    pages of the large import (${LARGE_PAGES})
  --seed N     seed of the power cuts
  --rate N     requests per second while processes are restarted (${MESH_RATE})`;

function parseOptionsOrExit(): SoakOptions {
  try {
    return parseOptions();
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(64);
  }
}

const { rounds, runs, automations, messages, importRounds, linkRounds, images, seed, pages, mesh, parts } =
  parseOptionsOrExit();
mkdirSync(join(ROOT, 'bench/data'), { recursive: true });
const home = mkdtempSync(join(ROOT, 'bench/data/soak-'));
const tally = createTally();
// All processes that this process has started end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
try {
  if (parts.has('writes')) await soak(rounds, join(home, 'writes'), tally);
  if (parts.has('power')) await soakPower(images, join(home, 'power'), tally, seed);
  if (parts.has('imports')) await soakImports(importRounds, join(home, 'imports'), tally);
  if (parts.has('runs')) await soakRuns(runs, join(home, 'runs'), tally);
  if (parts.has('automations')) await soakAutomations(automations, join(home, 'automations'), tally);
  if (parts.has('imports-large')) await soakLargeImport(pages, join(home, 'imports-large'), tally);
  if (parts.has('links')) await soakLinks(linkRounds, join(home, 'links'), tally);
  if (parts.has('schedules')) await soakSchedules(linkRounds, join(home, 'schedules'), tally);
  if (parts.has('messages')) await soakMessages(messages, join(home, 'messages'), tally);
  if (parts.has('messages-mesh')) await soakMessagesOnMesh(messages, join(home, 'messages-mesh'), tally);
  if (MESH_PARTS.some((part) => parts.has(part))) await soakMesh(mesh, join(home, 'mesh'), tally);
} catch (error) {
  tally.check('the run', [error instanceof Error ? (error.stack ?? error.message) : String(error)]);
}
if (tally.failed === 0) rmSync(home, { recursive: true, force: true });
else console.log(`The data of the failed run is in ${home}`);
console.log(`${tally.passed} passed, ${tally.failed} failed${tally.skipped > 0 ? `, ${tally.skipped} skipped` : ''}`);
process.exit(tally.failed === 0 ? 0 : 1);
