import { setTimeout as sleep } from 'node:timers/promises';
import { eventsOf, type ServerSentEvent } from './events.js';

/**
 * Assembles the text of a streamed reply like a client: from snapshots, and from deltas by their offsets in code
 * points.
 */
export class JoinedText {
  text = '';
  /** Id of the last event. */
  lastEventId: string | undefined;
  /** Content of the finished message. Below, the event that ended the run, or `idle` if no run is in progress. */
  content: string | undefined;
  ended: string | undefined;
  /** Number of times that the text was restarted. Below, the contradictions between events. */
  restarts = 0;
  readonly faults: string[] = [];

  take({ id, event, data }: ServerSentEvent): void {
    this.lastEventId = id ?? this.lastEventId;
    switch (event) {
      case 'message.created':
        this.text = '';
        break;
      case 'message.restarted':
        this.restarts++;
        this.text = '';
        break;
      case 'message.snapshot':
        this.text = data.text as string;
        break;
      case 'message.delta':
        this.add(data.offset as number, data.text as string);
        break;
      case 'message.completed':
        this.complete(data.content as string);
        break;
      default:
        // A session without a reply in progress has nothing to stream. Its messages can be read in their stored form.
        if (event?.startsWith('run.') || event === 'idle') this.ended = event;
    }
  }

  private add(offset: number, text: string): void {
    const points = [...this.text];
    if (offset > points.length) this.faults.push(`a delta at ${offset} follows ${points.length} characters`);
    this.text = points.slice(0, offset).join('') + text;
  }

  private complete(content: string): void {
    this.content = content;
    if (this.text === content) return;
    const at = [...this.text].findIndex((point, i) => point !== [...content][i]);
    const [joined, stored] = [this.text.slice(at, at + 40), content.slice(at, at + 40)].map((part) =>
      JSON.stringify(part),
    );
    this.faults.push(`from ${at} of ${content.length} on the joined text is ${joined}, the stored one ${stored}`);
  }
}

/** The event id with which a client resumes after its connection was cut. */
export type Resumption = 'last' | 'none' | 'old' | 'foreign' | 'garbage';

export interface Cuts {
  /** Returns the milliseconds until the next cut; undefined for no cut. */
  next(): number | undefined;
  /** Returns how the client resumes after a cut. */
  resumption(): Resumption;
}

/** Opens a stream, like `fetch`. */
type Open = (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;

const PATIENCE = 400;
const PAUSE_MS = 100;

/** Follows a run through cuts to its end. If there is no answer because the server restarts, tries again. */
export async function followWithCuts(open: Open, cuts: Cuts): Promise<JoinedText> {
  const joined = new JoinedText();
  const ids: string[] = [];
  for (let misses = 0, wanted: string | undefined; joined.ended === undefined; ) {
    const cut = new AbortController();
    const cutMs = cuts.next();
    const timer = cutMs === undefined ? undefined : setTimeout(() => cut.abort(), cutMs);
    const before = joined.lastEventId;
    try {
      const response = await open(wanted, cut.signal);
      if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
      const events = eventsOf(response);
      for (let event = await events.next(); event !== undefined; event = await events.next()) {
        joined.take(event);
        if (event.id !== undefined) ids.push(event.id);
      }
    } catch (error) {
      if (!cut.signal.aborted && ++misses > PATIENCE) throw error;
      if (!cut.signal.aborted) await sleep(PAUSE_MS);
    } finally {
      clearTimeout(timer);
    }
    if (joined.lastEventId !== before) misses = 0;
    wanted = idFor(cuts.resumption(), joined.lastEventId, ids);
  }
  return joined;
}

function idFor(resumption: Resumption, last: string | undefined, ids: readonly string[]): string | undefined {
  switch (resumption) {
    case 'last':
      return last;
    case 'none':
      return undefined;
    case 'old':
      return ids[Math.floor(Math.random() * ids.length)];
    case 'foreign':
      return '987000004';
    case 'garbage':
      return 'not-an-id-7e3;x';
  }
}

const PARTS = [
  'word ',
  'naïve ',
  'e\u0301te\u0301 ',
  '深度 ',
  '👩‍👩‍👧 ',
  '🎉',
  '🇩🇪 ',
  'a\u0308',
  '\n',
  '*b* ',
  '5 < 6 ',
];

/** Splits a text with emoji and combining characters into pieces at arbitrary code units, even within a character. */
export function unevenPieces(seed: number, words: number): string[] {
  let state = seed + 1;
  const next = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const text = `${Array.from({ length: words }, () => PARTS[next(PARTS.length)]).join('')}end`;
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at = at + (pieces.at(-1)?.length ?? 1))
    pieces.push(text.slice(at, at + 1 + next(11)));
  return pieces;
}
