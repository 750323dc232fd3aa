import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ConsumerFacts, EventFacts } from '@commonplace/adapters/sqlite';
import type { BytesFacts } from '@commonplace/files/inspect';
import type { Installation } from '@commonplace/kit/installation';
import type { CheckReport } from '@commonplace/platform/runtime';
import type { TableFacts } from '@commonplace/resources/inspect';
import type { IndexFacts } from '@commonplace/search/inspect';
import type { Places } from '../settings.js';
import { type Check, type Finding, failed, ok, skipped, warning, worstOf } from './check.js';

/** A line of output of the inspecting process. */
export type Line =
  | { readonly what: 'none' }
  | { readonly what: 'installation'; readonly known: Installation }
  | { readonly what: 'events'; readonly facts: EventFacts }
  | { readonly what: 'tables'; readonly version: string; readonly count: number }
  | { readonly what: 'table'; readonly name: string; readonly verdict: string }
  | { readonly what: 'damage'; readonly error: string }
  | { readonly what: 'contents'; readonly facts?: TableFacts; readonly error?: string }
  | { readonly what: 'files'; readonly facts?: BytesFacts; readonly error?: string }
  | { readonly what: 'report'; readonly report: CheckReport }
  | { readonly what: 'index'; readonly facts?: IndexFacts; readonly error?: string };

/** Milliseconds for each of the three inspections, and milliseconds after which the process is killed. */
const [TIME_LIMIT_MS, KILL_MS] = [1500, 5500];
/** The same for a thorough inspection: no limit (0) for each of the three, and 24 hours for the process. */
const [NO_TIME_LIMIT, THOROUGH_KILL_MS] = [0, 24 * 3_600_000];
/** Milliseconds that an event may wait without a warning. The system may simply not be running. */
const WAITING_MS = 60_000;
/** Milliseconds by which an event may be ahead of this clock. A larger difference shows that the clock was set back. */
const MAX_CLOCK_LEAD_MS = 5000;

/** Returns the checks of an embedded system's files. `withIndex` adds the check of the index. */
export function embeddedChecks(inspected: Promise<readonly Line[]>, withIndex: boolean): Check[] {
  const of = (name: string, judge: (lines: readonly Line[]) => Finding): Check => ({
    name,
    run: async () => judge(await inspected),
  });
  const checks = [
    of('database', judgeDatabase),
    of('tables', judgeContents),
    of('files', judgeFiles),
    of('events', judgeEvents),
    of('clock', judgeClock),
  ];
  return withIndex ? [...checks, of('index', judgeIndex)] : checks;
}

/** Returns the installation to which the database belongs; an empty list if the database names none. */
export async function embeddedInstallation(inspected: Promise<readonly Line[]>): Promise<Installation[]> {
  const known = find(await inspected, 'installation')?.known;
  return known === undefined ? [] : [known];
}

/**
 * Inspects a data folder and its files in a separate process. Returns all results that it printed within its time
 * limit.
 */
export function inspectFolder(
  { dataDir, s3Url }: Pick<Places, 'dataDir' | 's3Url'>,
  thorough: boolean,
): Promise<Line[]> {
  const main = fileURLToPath(new URL('./inspect-main.js', import.meta.url));
  const timeLimit = String(thorough ? NO_TIME_LIMIT : TIME_LIMIT_MS);
  const child = spawn(process.execPath, [main, dataDir, timeLimit], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, COMMONPLACE_S3_URL: s3Url ?? '' },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return new Promise((resolve) => {
    const end = () => resolve(linesOf(output));
    // Even a killed process does not end while it waits for the disk.
    const timer = setTimeout(
      () => {
        child.kill('SIGKILL');
        end();
      },
      thorough ? THOROUGH_KILL_MS : KILL_MS,
    );
    child.once('error', end);
    child.once('close', () => {
      clearTimeout(timer);
      end();
    });
  });
}

/** Parses the complete lines. The last line may be cut off. */
function linesOf(output: string): Line[] {
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

function find<W extends Line['what']>(lines: readonly Line[], what: W): (Line & { what: W }) | undefined {
  return lines.find((line): line is Line & { what: W } => line.what === what);
}

function judgeDatabase(lines: readonly Line[]): Finding {
  if (find(lines, 'none')) return warning('there is no database yet; the first start creates it');
  const damage = find(lines, 'damage');
  if (damage !== undefined) return failed(`the database cannot be read: ${damage.error}`);
  const tables = find(lines, 'tables');
  if (tables === undefined) return failed(`the database gave no answer within ${KILL_MS / 1000} s`);
  const checked = lines.filter((line) => line.what === 'table');
  const faulty = checked.filter(({ verdict }) => verdict !== 'ok');
  const facts = { sqlite: tables.version, tables: tables.count, checked: checked.length, faulty };
  if (faulty.length > 0) {
    const [{ name, verdict }] = faulty as [(typeof faulty)[0]];
    return failed(`the database is damaged, first ${name}: ${verdict}; restore the last backup`, facts);
  }
  const report = find(lines, 'report')?.report;
  if (report !== undefined && report.faults.length > 0) {
    const text = `the check of ${report.at} found damage: ${report.faults[0]}; restore the last backup`;
    return failed(text, { ...facts, lastCheck: report });
  }
  const rest = checked.length < tables.count ? ', as many as there was time for' : '';
  return ok(`SQLite ${tables.version}: ${checked.length} of ${tables.count} tables checked${rest}, all whole`, facts);
}

/** Judges whether users' tables contain the rows that were written to them. */
function judgeContents(lines: readonly Line[]): Finding {
  const found = find(lines, 'contents');
  if (found === undefined) return skipped('no tables were inspected');
  if (found.facts === undefined) return failed(`the tables cannot be read: ${found.error}`);
  const { tables, checked, faults } = found.facts;
  const [first] = faults;
  if (first !== undefined) {
    const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
    return failed(`a table is damaged: ${first}${more}; restore it from a backup`, { ...found.facts });
  }
  return ok(`${checked} of ${tables} tables${inTime(checked, tables)} have the rows that were written`, {
    ...found.facts,
  });
}

/** Judges whether the bytes of files exist as their records say. */
function judgeFiles(lines: readonly Line[]): Finding {
  const found = find(lines, 'files');
  if (found === undefined) return skipped('no files were inspected');
  if (found.facts === undefined) return failed(`the bytes of files cannot be read: ${found.error}`);
  return judgeBytes(found.facts);
}

export function judgeBytes(facts: BytesFacts): Finding {
  const { blobs, checked, missing, examples } = facts;
  if (missing > 0) {
    const text = `the bytes of ${missing} of ${checked} files are missing or incomplete`;
    return failed(`${text}, for example those of ${examples[0]}; restore them from a backup`, { ...facts });
  }
  return ok(`the bytes of ${checked} of ${blobs} files${inTime(checked, blobs)} exist`, { ...facts });
}

/** Returns a note if the time limit left some items unchecked; empty otherwise. */
const inTime = (checked: number, all: number): string =>
  checked < all ? ', which is as many as the time limit allowed (--thorough checks all),' : '';

function judgeEvents(lines: readonly Line[]): Finding {
  const events = find(lines, 'events')?.facts;
  if (events === undefined) return skipped('no events were inspected');
  const findings = events.consumers.flatMap(judgeConsumer);
  const facts = { events: events.events, consumers: events.consumers };
  if (findings.length > 0) return worstOf(findings, facts);
  return ok(`${events.consumers.length} consumers are up to date`, facts);
}

function judgeConsumer({ name, waiting, oldestAt, parked }: ConsumerFacts): Finding[] {
  const findings: Finding[] = [];
  const age = oldestAt === undefined ? 0 : Date.now() - oldestAt;
  if (age > WAITING_MS) {
    findings.push(warning(`${waiting} events wait for ${name}, the first since ${Math.round(age / 1000)} s`));
  }
  if (parked > 0) findings.push(warning(`${parked} events that ${name} failed at are parked`));
  return findings;
}

function judgeClock(lines: readonly Line[]): Finding {
  const newest = find(lines, 'events')?.facts.newestAt;
  if (newest === undefined) return skipped('there is nothing to compare the clock with');
  const ahead = newest - Date.now();
  if (ahead <= MAX_CLOCK_LEAD_MS) return ok('the clock is not behind what is stored');
  return failed(`the clock is ${Math.round(ahead / 1000)} s behind the newest event: it was set back`);
}

function judgeIndex(lines: readonly Line[]): Finding {
  const index = find(lines, 'index');
  if (index === undefined) return skipped('the time limit left no time for the index');
  if (index.error !== undefined) return warning(`the index cannot be read and will be rebuilt: ${index.error}`);
  if (index.facts === undefined) return warning('there is no index yet; the next start builds it');
  const waiting = find(lines, 'events')?.facts.consumers.find(({ name }) => name === 'search-index')?.waiting ?? 0;
  const facts = { ...index.facts, waiting };
  if (!index.facts.complete) return warning('the index is incomplete: it is being built', facts);
  return ok(`the index is complete: ${index.facts.entries} entries, ${waiting} events behind`, facts);
}
