import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import type { ContentThrottle, NewStreamEvent } from './records.js';

/**
 * Milliseconds between two events about the content of one resource; later changes wait for the end of the interval.
 */
const CONTENT_GAP_MS = 10_000;

interface TurnParts {
  readonly settings: { readonly eventKeepSeconds: number };
  readonly contentThrottles: Collection<ContentThrottle>;
  now(): number;
}

/**
 * Throttles events about the content of a resource to one per ten seconds. Changes within the interval are merged into
 * one event with the latest version. The pending event is stored and survives the end of the process.
 */
export class ContentTurns {
  private readonly found = new Map<
    string,
    { before: ContentThrottle | undefined; after: Omit<ContentThrottle, 'version'> }
  >();

  constructor(
    private readonly parts: TurnParts,
    private readonly work: UnitOfWork,
  ) {}

  /** Returns whether an event is to be appended now; otherwise it is pending, or was appended before. */
  async take(event: NewStreamEvent): Promise<boolean> {
    const id = String(event.data.resource_id);
    const version = Number(event.data.version ?? 0);
    const record = this.found.get(id)?.after ?? (await this.load(id));
    if (record !== undefined && (record.lastId === event.id || version < record.lastVersion)) return false;
    const last = { lastId: event.id, lastVersion: version };
    const now = this.parts.now();
    const turn = record === undefined ? now : Date.parse(record.toldAt) + CONTENT_GAP_MS;
    if (record === undefined || (turn <= now && record.waiting === undefined)) {
      this.set({ id, tenant: event.tenant, toldAt: new Date(now).toISOString(), ...last, expiresAt: this.expiry() });
      return true;
    }
    const waiting = record.waiting === undefined ? event : merged(record.waiting, event);
    this.set({ ...record, ...last, waiting, dueAt: new Date(turn).toISOString(), expiresAt: this.expiry() });
    return false;
  }

  /** Returns the pending events of the given resources that are due. */
  async takeDue(ids: readonly string[]): Promise<NewStreamEvent[]> {
    const now = new Date(this.parts.now()).toISOString();
    const events: NewStreamEvent[] = [];
    for (const before of await this.parts.contentThrottles.getMany(ids)) {
      const { waiting, dueAt, version: _, ...record } = before;
      if (waiting === undefined || dueAt === undefined || dueAt > now) continue;
      this.found.set(before.id, { before, after: { ...record, toldAt: now, expiresAt: this.expiry() } });
      events.push(waiting);
    }
    return events;
  }

  /** Writes the changed records to the unit of work. */
  save(): void {
    for (const { before, after } of this.found.values()) {
      if (before === undefined) this.work.insert(this.parts.contentThrottles, after);
      else if (after !== before) this.work.replace(this.parts.contentThrottles, before, after);
    }
  }

  private async load(id: string): Promise<ContentThrottle | undefined> {
    const before = await this.parts.contentThrottles.get(id);
    if (before !== undefined) this.found.set(id, { before, after: before });
    return before;
  }

  private set(after: Omit<ContentThrottle, 'version'>): void {
    this.found.set(after.id, { before: this.found.get(after.id)?.before, after });
  }

  private expiry(): string {
    return new Date(this.parts.now() + this.parts.settings.eventKeepSeconds * 1000).toISOString();
  }
}

/** Returns the later event with the changed fields of both events. */
function merged(earlier: NewStreamEvent, later: NewStreamEvent): NewStreamEvent {
  const fields = [earlier, later].flatMap(({ data }) => (data.changed_fields ?? []) as string[]);
  return { ...later, data: { ...later.data, changed_fields: [...new Set(fields)] } };
}
