import { setTimeout as sleep } from 'node:timers/promises';
import { eventsOf, type ServerSentEvent } from './events.js';

/** The text of a streamed reply as a client joins it: snapshots, and deltas by their offset in code points. */
export class JoinedText {
  text = '';
  /** Id of the last event. */
  lastEventId: string | undefined;
  /** Content of the finished message, and the event that ended the run or said that none is under way. */
  content: string | undefined;
  ended: string | undefined;
  /** Times that the text began anew, and what does not fit together. */
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
        // A session without a reply under way has nothing to stream: its messages are read as they are stored.
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

/** How a client goes on after its connection was cut. */
export type Resumption = 'last' | 'none' | 'old' | 'foreign' | 'garbage';

export interface Cuts {
  /** Milliseconds until the next cut; undefined for none. */
  next(): number | undefined;
  /** How the client goes on after a cut. */
  resumption(): Resumption;
}

/** Opens a stream, as `fetch` does. */
export type Open = (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;

const PATIENCE = 400;
const PAUSE_MS = 100;

/** Follows a run to its end through cuts. Where no answer comes, because the server restarts, it is asked for again. */
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

/** Returns the pieces of a text with emoji and combining characters, cut at any code unit, so also within a character. */
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
