import { setTimeout as sleep } from 'node:timers/promises';
import { eventsOf } from '@commonplace/acceptance/dist/src/events.js';
import { type Person, signUp } from '@commonplace/acceptance/dist/src/people.js';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Measured } from './bench.js';

/** People who sign up at once: hashing their passwords takes all processors. */
const SIGN_UPS = 4;

/** Signs people up as members of a workspace. */
export function addReaders({ client, system }: Measured, workspaceId: string, count: number): Promise<Person[]> {
  const names = Array.from({ length: count }, (_, i) => `Reader ${i}`);
  return forEach(names, SIGN_UPS, async (name) => {
    const person = await signUp(system, name);
    await client.ask('POST', `/workspaces/${workspaceId}/members`, { user_id: person.user.id, role: 'viewer' });
    return person;
  });
}

type Data = Readonly<Record<string, unknown>>;

/** Notes when streams tell what was done, by the name of what was done. */
export class Arrivals {
  private readonly times = new Map<string, number[]>();

  /** `nameOf` returns the name of what an event is about, from the event's own data. */
  constructor(private readonly nameOf: (data: Data) => string | undefined) {}

  /** Opens a stream that is noted until it ends. Resolves once it is open. */
  async follow(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const response = await fetch(url, { signal, headers: { ...headers, accept: 'text/event-stream' } });
    if (!response.ok) throw new Error(`GET ${url} answers ${response.status}: ${await response.text()}`);
    const events = eventsOf(response);
    await events.next();
    void (async () => {
      for (let event = await events.next(); event !== undefined; event = await events.next()) {
        this.note(this.nameOf(event.data.data as Data) ?? '');
      }
    })().catch(() => {});
  }

  /** Returns when each of `count` streams has told something. */
  async of(name: string, count: number): Promise<readonly number[]> {
    for (;;) {
      const times = this.times.get(name) ?? [];
      if (times.length >= count) return times;
      await sleep(5);
    }
  }

  private note(name: string): void {
    const known = this.times.get(name);
    if (known === undefined) this.times.set(name, [performance.now()]);
    else known.push(performance.now());
  }
}

/** Returns the value below which a share of all is. */
export function shareOf(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}
