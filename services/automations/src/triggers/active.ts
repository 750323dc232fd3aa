import type { EventBus, Subscription } from '@commonplace/kit/events';
import type { Collection, Store } from '@commonplace/kit/store';
import { LRUCache } from 'lru-cache';
import type { ActsAs } from '../acts-as.js';
import { type AutomationRecord, automationCollection, type Definition } from '../definitions/records.js';
import { EVENT_TRIGGERS } from './match.js';

/** The part of an active automation that matching events needs. */
export interface ActiveTrigger extends Pick<Definition, 'trigger' | 'runAs'> {
  readonly automationId: string;
  readonly workspaceId: string;
  readonly definitionVersion: number;
  readonly createdAt: string;
  readonly actsAs: ActsAs;
}

/** Maximum size of the cache, counting automations and workspaces. */
const MAX_REMEMBERED = 200_000;
/** Milliseconds that entries are cached if other processes write to the store, since a broadcast may be lost. */
const SHARED_MAX_AGE_MS = 1_000;
const MAX_AGE_MS = 60_000;
/** The topic on which changes of automations are broadcast to other processes. */
const TOPIC = 'automations.definitions';
const PAGE = 500;

interface Parts {
  readonly store: Store;
  readonly bus: Pick<EventBus, 'broadcast' | 'listen'>;
  readonly automations: Collection<AutomationRecord>;
}

/**
 * Caches the automations that events start, by workspace, including workspaces without any. Any commit to an
 * automation, in this or another process, clears the cache, since events are far more frequent.
 */
export class ActiveTriggers {
  private readonly known;
  private epoch = 0;
  private unwatch: () => void = () => {};
  private listener: Subscription | undefined;
  /** Number of queries made, for tests. */
  queries = 0;

  constructor(private readonly parts: Parts) {
    this.known = new LRUCache<string, readonly ActiveTrigger[]>({
      maxSize: MAX_REMEMBERED,
      sizeCalculation: (triggers) => triggers.length + 1,
      ttl: parts.store.isExclusive ? MAX_AGE_MS : SHARED_MAX_AGE_MS,
    });
  }

  async begin(): Promise<void> {
    const { store, bus } = this.parts;
    this.unwatch = store.onCommit(automationCollection.name, () => {
      this.forget();
      if (!store.isExclusive) bus.broadcast(TOPIC, '');
    });
    this.listener = await bus.listen(TOPIC, () => this.forget());
  }

  async close(): Promise<void> {
    this.unwatch();
    await this.listener?.close();
  }

  forget(): void {
    this.epoch++;
    this.known.clear();
  }

  /** Returns the active automations of workspaces that events can start, in the order of their ids. */
  async of(workspaceIds: Iterable<string>): Promise<ReadonlyMap<string, readonly ActiveTrigger[]>> {
    const found = new Map<string, readonly ActiveTrigger[]>();
    const missing: string[] = [];
    for (const id of new Set(workspaceIds)) {
      const known = this.known.get(id);
      if (known === undefined) missing.push(id);
      else found.set(id, known);
    }
    if (missing.length === 0) return found;
    const { epoch } = this;
    const loaded = new Map<string, ActiveTrigger[]>(missing.map((id) => [id, []]));
    for (const automation of await this.load(missing)) loaded.get(automation.workspaceId)?.push(triggerOf(automation));
    for (const [id, triggers] of loaded) {
      found.set(id, triggers);
      if (epoch === this.epoch) this.known.set(id, triggers);
    }
    return found;
  }

  private async load(workspaceIds: readonly string[]): Promise<AutomationRecord[]> {
    const where = { workspaceId: { in: workspaceIds }, isActive: true, triggerType: { in: EVENT_TRIGGERS } };
    const all: AutomationRecord[] = [];
    for (;;) {
      this.queries++;
      const last = all.at(-1);
      const page = await this.parts.automations.find({ where, limit: PAGE, ...(last && { after: [last.id] }) });
      all.push(...page);
      if (page.length < PAGE) return all;
    }
  }
}

function triggerOf({ id, workspaceId, definition, definitionVersion, createdAt }: AutomationRecord): ActiveTrigger {
  const { trigger, runAs, actsAs } = definition;
  return { automationId: id, workspaceId, definitionVersion, createdAt, trigger, runAs, actsAs };
}
