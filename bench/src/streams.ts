import { setTimeout as sleep } from 'node:timers/promises';
import { eventsOf } from '@commonplace/acceptance/dist/src/events.js';
import { type Person, signUp } from '@commonplace/acceptance/dist/src/people.js';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Measured } from './bench.js';

/** Number of people who sign up concurrently. It is small, because hashing their passwords uses all processors. */
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

/** Records when streams deliver events, by the name of what each event is about. */
export class Arrivals {
  private readonly times = new Map<string, number[]>();

  /** `nameOf` extracts the name of an event's subject from the event's data. */
  constructor(private readonly nameOf: (data: Data) => string | undefined) {}

  /** Opens a stream and records its events until it ends. Resolves once the stream is open. */
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

  /** Waits until `count` streams have delivered an event with a name. Returns the times of arrival. */
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
