import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ConsumerFacts, EventFacts } from '@commonplace/kit/store/sqlite';
import type { IndexFacts } from '@commonplace/search/inspect';
import { type Check, type Finding, failed, ok, skipped, warning, worstOf } from './check.js';

/** What the inspecting process says. */
export type Line =
  | { readonly what: 'none' }
  | { readonly what: 'events'; readonly facts: EventFacts }
  | { readonly what: 'tables'; readonly version: string; readonly count: number }
  | { readonly what: 'table'; readonly name: string; readonly verdict: string }
  | { readonly what: 'damage'; readonly error: string }
  | { readonly what: 'index'; readonly facts?: IndexFacts; readonly error?: string };

/** Milliseconds after which no further table is looked at, and after which the process is killed. */
const [PATIENCE_MS, KILL_MS] = [3000, 5000];
/** An event that waits for longer is worth a look; the system may just not run. */
const WAITING_MS = 60_000;
/** An event from further ahead shows that a clock was set. */
const AHEAD_MS = 5000;

/** The checks of an embedded system's files; of the index only where it is one of them. */
export function embeddedChecks(dataDir: string, withIndex: boolean): Check[] {
  const inspected = inspect(dataDir);
  const of = (name: string, judge: (lines: readonly Line[]) => Finding): Check => ({
    name,
    run: async () => judge(await inspected),
  });
  const checks = [of('database', judgeDatabase), of('events', judgeEvents), of('clock', judgeClock)];
  return withIndex ? [...checks, of('index', judgeIndex)] : checks;
}

/** What could be seen within `KILL_MS`. */
function inspect(dataDir: string): Promise<Line[]> {
  const main = fileURLToPath(new URL('./inspect-main.js', import.meta.url));
  const child = spawn(process.execPath, [main, dataDir, String(PATIENCE_MS)], { stdio: ['ignore', 'pipe', 'ignore'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  return new Promise((resolve) => {
    const end = () => resolve(linesOf(said));
    // A process that the disk holds does not even end when it is killed.
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      end();
    }, KILL_MS);
    child.once('error', end);
    child.once('close', () => {
      clearTimeout(timer);
      end();
    });
  });
}

/** Whole lines: the last may be cut off. */
function linesOf(said: string): Line[] {
  return said
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

function find<W extends Line['what']>(lines: readonly Line[], what: W): (Line & { what: W }) | undefined {
  return lines.find((line): line is Line & { what: W } => line.what === what);
}

function judgeDatabase(lines: readonly Line[]): Finding {
  if (find(lines, 'none')) return warning('there is no database yet; the first start makes it');
  const damage = find(lines, 'damage');
  if (damage !== undefined) return failed(`the database can not be read: ${damage.error}`);
  const tables = find(lines, 'tables');
  if (tables === undefined) return failed(`the database gave no answer within ${KILL_MS / 1000} s`);
  const checked = lines.filter((line) => line.what === 'table');
  const faulty = checked.filter(({ verdict }) => verdict !== 'ok');
  const facts = { sqlite: tables.version, tables: tables.count, checked: checked.length, faulty };
  if (faulty.length > 0) {
    const [{ name, verdict }] = faulty as [(typeof faulty)[0]];
    return failed(`the database is damaged, first of all ${name}: ${verdict}; restore the last backup`, facts);
  }
  const rest = checked.length < tables.count ? ', as many as there was time for' : '';
  return ok(`SQLite ${tables.version}: ${checked.length} of ${tables.count} tables checked${rest}, all whole`, facts);
}

function judgeEvents(lines: readonly Line[]): Finding {
  const events = find(lines, 'events')?.facts;
  if (events === undefined) return skipped('there are no events to be seen');
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
  if (ahead <= AHEAD_MS) return ok('the clock is not behind what is stored');
  return failed(`the clock is ${Math.round(ahead / 1000)} s behind the newest event: it was set back`);
}

function judgeIndex(lines: readonly Line[]): Finding {
  const index = find(lines, 'index');
  if (index === undefined) return skipped('there was no time for the index');
  if (index.error !== undefined) return warning(`the index can not be read, and is made anew: ${index.error}`);
  if (index.facts === undefined) return warning('there is no index yet; the next start makes it');
  const waiting = find(lines, 'events')?.facts.consumers.find(({ name }) => name === 'search-index')?.waiting ?? 0;
  const facts = { ...index.facts, waiting };
  if (!index.facts.complete) return warning('the index is not complete: it is being made', facts);
  return ok(`the index is complete: ${index.facts.entries} entries, ${waiting} events behind`, facts);
}
