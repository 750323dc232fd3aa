import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '@commonplace/acceptance/dist/src/client.js';
import { eventsOf } from '@commonplace/acceptance/dist/src/events.js';
import type { Conversation } from './conversation.js';

/**
 * Follows the messages of a conversation by `GET /events`. Reconnects after each cut and resumes after its last event.
 */
export class Subscriber {
  /** The `seq` of each delivered message in order of arrival. */
  readonly seqs: number[] = [];
  readonly faults: string[] = [];
  /** Number of streams that were opened. */
  opened = 0;
  private lastEventId: string | undefined;
  private readonly over = new AbortController();
  private readonly following: Promise<void>;

  constructor(
    private readonly conversation: Conversation,
    private readonly session: Session,
  ) {
    this.following = this.follow();
  }

  get isOpen(): boolean {
    return this.lastEventId !== undefined;
  }

  async close(): Promise<void> {
    this.over.abort();
    await this.following;
  }

  private async follow(): Promise<void> {
    const { signal } = this.over;
    while (!signal.aborted) {
      await this.readOnce(signal).catch((error: Error) => {
        if (error instanceof Refused) this.faults.push(error.message);
      });
      if (!signal.aborted) await sleep(randomInt(50, 300));
    }
  }

  private async readOnce(signal: AbortSignal): Promise<void> {
    const { system, id, workspaceId } = this.conversation;
    const query = `workspace_id=${workspaceId}&conversation_id=${id}&types=message.created`;
    const response = await fetch(`${system.baseUrl()}/api/v1/events?${query}`, {
      signal,
      headers: {
        cookie: this.session.cookie,
        accept: 'text/event-stream',
        ...(this.lastEventId !== undefined && { 'last-event-id': this.lastEventId }),
      },
    });
    if (!response.ok) {
      const text = await response.text();
      if (response.status < 500 && response.status !== 429)
        throw new Refused(`${response.status}: ${text.slice(0, 300)}`);
      return;
    }
    this.opened++;
    const events = eventsOf(response);
    for (let event = await events.next(); event !== undefined; event = await events.next()) {
      if (event.event === 'message.created') this.seqs.push((event.data.data as { seq: number }).seq);
      else if (event.event !== 'position') this.faults.push(`${event.event} ${JSON.stringify(event.data)}`);
      this.lastEventId = event.id;
    }
  }
}

/** Signals that the stream was refused permanently. */
class Refused extends Error {}

/** Returns the faults in what a subscriber received of the messages 1 to `count`. */
export function subscriberFaults({ seqs, faults }: Subscriber, count: number): string[] {
  const at = seqs.findIndex((seq, i) => seq !== i + 1);
  const order = at < 0 ? [] : [`message ${at} is followed by ${seqs[at]}`];
  const length = seqs.length === count ? [] : [`received ${seqs.length} of ${count} messages`];
  return [...faults, ...order, ...length];
}
