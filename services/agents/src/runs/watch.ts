import { jsonBytes } from '@commonplace/kit/json';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { ChatRole } from '@commonplace/proto/agents/v1/chat_session.js';
import { StepStatus } from '@commonplace/proto/agents/v1/run.js';
import { RunEvent } from '@commonplace/proto/agents/v1/run_service.js';
import { ApprovalAccess } from '../approvals/access.js';
import type { Parts } from '../parts.js';
import { keepsAnswers, seeRun } from '../policy.js';
import { readableAmong } from '../readable.js';
import { hasEnded, type RunEventRecord, type RunRecord, type StepRecord, stepId } from '../stores/runs.js';
import type { MessageRecord } from '../stores/sessions.js';
import { closedFailure, runMessage } from '../wire/runs.js';
import { chatMessage, type MessageReader, resourcesOf } from '../wire/sessions.js';
import type { Ending } from './outcome.js';
import { messageStatusOf } from './session-answer.js';
import { readSignal, runTopic } from './topic.js';
import { viewOf } from './view.js';

/** Milliseconds after which records are read without a broadcast, since a broadcast may be lost and access may end. */
const RECHECK_MS = 1_500;
const PAGE = 200;
const MAX_STEPS = 1_000;
/**
 * Multiplier of the number of a stored event in the id of a stream event; the length of the text sent since is added.
 */
const TEXT_ROOM = 1_000_000;
/**
 * Multiplier of the reply's number in its session, which the id begins with, so that ids of a session's replies differ and
 * increase. It leaves room for 100,000 stored events; 15 digits in all are an exact number.
 */
const REPLY_ROOM = 100_000 * TEXT_ROOM;
const MAX_REPLIES = 10_000;

type Body = Omit<RunEvent, 'id'>;

/** A message without an event, which only opens the stream. */
export const NO_EVENT: Body = RunEvent.fromPartial({});

/** A broadcast piece of a message's text. Offsets count UTF-16 code units. */
interface LivePiece {
  readonly attempt: number;
  readonly offset: number;
  readonly text: string;
}

/**
 * Streams the events of a run after `lastEventId` until the run ends. Missed text is sent as one `message.snapshot`; an
 * unknown id restarts the stream from the beginning.
 */
export async function* watchRun(
  parts: Parts,
  runId: string,
  lastEventId: string,
  context: CallContext,
): AsyncGenerator<RunEvent> {
  const live: LivePiece[] = [];
  const wakeSignal = new WakeSignal();
  let changed = false;
  const listener = await parts.bus.listen(runTopic(runId), (text) => {
    const signal = readSignal(text);
    if (signal.kind === 'text') live.push(signal);
    else changed = true;
    wakeSignal.wake();
  });
  const leave = () => wakeSignal.wake();
  context.signal.addEventListener('abort', leave);
  const reader = new RunReader(parts, runId, lastEventId, context);
  // A piece of text wakes all readers of the run at once, so they take turns.
  const breathe = createBreathe();
  try {
    // Reading before the stream opens refuses an invisible run like any other request.
    let events = await reader.readRecords();
    yield { ...NO_EVENT, id: lastEventId };
    for (let checkAt = Date.now() + RECHECK_MS; !context.signal.aborted; ) {
      await breathe();
      for (const event of events) {
        yield event;
        await breathe();
      }
      if (reader.hasEnded) return;
      events = [];
      if (changed || Date.now() >= checkAt) {
        changed = false;
        checkAt = Date.now() + RECHECK_MS;
        events = await reader.readRecords();
        continue;
      }
      for (const event of reader.readLive(live.splice(0))) yield event;
      if (changed || live.length > 0) continue;
      if (!context.signal.aborted) await wakeSignal.wait(Math.max(checkAt - Date.now(), 0));
    }
  } finally {
    context.signal.removeEventListener('abort', leave);
    await listener.close();
  }
}

/** Wakes a waiting loop. An AbortSignal for each wait would cost more than handling a piece of text. */
class WakeSignal {
  wake: () => void = () => {};

  /** Waits until `wake` is called, or for `ms`. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Reads the events of one run for one reader, in order. */
class RunReader {
  hasEnded = false;
  /** The number of the last stored event that was sent. */
  private position = 0;
  /** What the ids of the run's events begin with; 0 for a run without a session. */
  private reply = 0;
  /** The sent text of the current message; undefined if there is none. */
  private sent: string | undefined;
  /** The number of code points in a beginning of the sent text, for incremental counting. */
  private counted = { units: 0, points: 0 };
  private attempt: number | undefined;
  private messageId = '';
  private reader: MessageReader = { isAsker: false, keepsAnswers: false };
  /**
   * Whether the reader sees the text while it is written. Until the run ends, its sources are known only for the person
   * who asked.
   */
  private seesText = false;
  /** Pieces that do not yet connect to the sent text. */
  private ahead: LivePiece[] = [];

  constructor(
    private readonly parts: Parts,
    private readonly runId: string,
    private readonly lastEventId: string,
    private readonly context: CallContext,
  ) {}

  /** Returns the stored events that were not sent yet. Throws if the reader can no longer read the run. */
  async readRecords(): Promise<RunEvent[]> {
    let run = await seeRun(this.parts, this.runId, this.context);
    if (this.messageId === '') this.resume(run);
    await this.findWhatIsSeen(run);
    const events: RunEvent[] = [];
    for (;;) {
      const where = { runId: this.runId, seq: { gt: this.position } };
      const stored = await this.parts.runEvents.find({ where, sort: ['seq'], limit: PAGE });
      // The run may have ended after it was read.
      if (!hasEnded(run) && stored.some(({ type }) => type === 'message.completed')) {
        run = await seeRun(this.parts, this.runId, this.context);
      }
      for (const event of stored) {
        events.push(...(await this.present(event, run)));
        this.position = event.seq;
      }
      if (stored.length < PAGE) break;
    }
    if (!this.hasEnded && hasEnded(run) && this.position >= run.eventCount) this.hasEnded = true;
    if (!this.hasEnded && this.sent !== undefined && this.seesText) events.push(...(await this.catchUp(run)));
    return events;
  }

  /** Returns one event with the broadcast pieces that continue the sent text. */
  readLive(pieces: readonly LivePiece[]): RunEvent[] {
    if (this.sent === undefined || !this.seesText) return [];
    this.ahead.push(...pieces);
    let more = '';
    for (const { attempt, offset, text } of this.ahead.splice(0)) {
      this.attempt ??= attempt;
      // A stored event announces the restart of a text before its pieces are sent.
      if (attempt < this.attempt) continue;
      const known = this.sent.length + more.length;
      if (attempt > this.attempt || offset > known) this.ahead.push({ attempt, offset, text });
      else if (offset + text.length > known) more += text.slice(known - offset);
    }
    return more === '' ? [] : [this.delta(more)];
  }

  /**
   * Determines what the reader may see now. If the run has used sources that the reader cannot read, its text is
   * hidden.
   */
  private async findWhatIsSeen(run: RunRecord): Promise<void> {
    const { parts, context } = this;
    const isAsker = run.userId === context.caller.userId;
    const keeps = isAsker && (await keepsAnswers(parts, run.userId, run.workspaceId, context));
    this.reader = { isAsker, keepsAnswers: keeps };
    this.seesText = keeps || (isAsker && (await this.readsAllSources(run)));
  }

  private async readsAllSources(run: RunRecord): Promise<boolean> {
    const steps = await this.parts.steps.find({ where: { runId: run.id }, sort: ['seq'], limit: MAX_STEPS });
    return (await viewOf(this.parts, run, steps, this.context)).isOpen;
  }

  /** Continues behind the last event that the reader has seen, unless that is one of another reply in the session. */
  private resume({ messageId, messageSeq = 0, eventCount }: RunRecord): void {
    this.messageId = messageId;
    this.reply = messageSeq % MAX_REPLIES;
    const id = /^\d{1,15}$/.test(this.lastEventId) ? Number(this.lastEventId) : 0;
    const reply = Math.floor(id / REPLY_ROOM);
    // Ids of earlier versions begin with no number of a reply.
    if (reply === this.reply || reply === 0) this.position = Math.floor((id % REPLY_ROOM) / TEXT_ROOM);
    if (this.position > eventCount) this.position = 0;
    if (this.position > 0) this.sent = '';
  }

  /** Returns the text that a worker has saved beyond what was sent. */
  private async catchUp({ draft = '' }: RunRecord): Promise<RunEvent[]> {
    const message = await this.message();
    const text = message?.content ?? draft;
    const known = this.sent ?? '';
    if (text.length <= known.length || !text.startsWith(known)) return [];
    if (known === '') return [this.snapshot(text)];
    return [this.delta(text.slice(known.length))];
  }

  private async present(event: RunEventRecord, run: RunRecord): Promise<RunEvent[]> {
    const { type, data, seq } = event;
    const { messageId } = run;
    switch (type) {
      case 'message.created': {
        this.sent = '';
        const { sessionId, messageSeq } = run;
        const created = { messageId, runId: run.id, sessionId, seq: messageSeq, role: ChatRole.ASSISTANT };
        return [this.event(seq, { messageCreated: created })];
      }
      case 'message.restarted': {
        const attempt = Number(data.attempt);
        this.sent = '';
        this.counted = { units: 0, points: 0 };
        this.attempt = attempt;
        this.ahead = this.ahead.filter((piece) => piece.attempt >= attempt);
        return [this.event(seq, { messageRestarted: { messageId, attempt } })];
      }
      case 'tool.started':
      case 'tool.finished':
        return this.presentTool(event);
      case 'approval.requested':
        return this.presentApproval(seq, 'approvalRequested', String(data.approvalId));
      case 'approval.decided':
        return this.presentApproval(seq, 'approvalDecided', String(data.approvalId));
      case 'message.completed':
        return this.complete(seq, run);
      case 'run.completed':
      case 'run.failed':
      case 'run.canceled':
      case 'run.expired':
        this.hasEnded = true;
        return [this.event(seq, { [ENDINGS[type]]: await this.runMessage(run) })];
      default:
        return [];
    }
  }

  private async presentTool({ type, data, seq }: RunEventRecord): Promise<RunEvent[]> {
    const step = await this.parts.steps.get(stepId(this.runId, Number(data.step)));
    if (step === undefined) return [];
    const about = { toolCallId: step.toolCallId ?? step.id, name: step.name, step: step.seq };
    if (type === 'tool.started') {
      return [
        this.event(seq, { toolStarted: { ...about, input: jsonBytes(this.seesText ? (step.input ?? null) : null) } }),
      ];
    }
    const error = this.seesText ? step.error : closedFailure(step);
    return [this.event(seq, { toolFinished: { ...about, status: stepStatus(step), error } })];
  }

  /** Returns the current state of an approval if it concerns the reader. */
  private async presentApproval(seq: number, name: 'approvalRequested' | 'approvalDecided', id: string) {
    const access = new ApprovalAccess(this.parts, this.context);
    const approval = await access.find(id);
    if (approval === undefined) return [];
    const [message] = await access.present([approval]);
    return [this.event(seq, { [name]: message })];
  }

  /** Returns the rest of a message's text, its citations, and the completed message. */
  private async complete(seq: number, run: RunRecord): Promise<RunEvent[]> {
    const { messageId } = run;
    const stored = (await this.message()) ?? messageOf(run);
    const readable = await readableAmong(this.parts, resourcesOf([stored]), this.context);
    const message = chatMessage(stored, readable, this.reader);
    const events = message.withheld ? [] : this.restOf(stored.content);
    this.sent = undefined;
    for (const citation of message.citations) {
      events.push(this.event(seq - 1, { citationAdded: { messageId, citation } }, TEXT_ROOM - 1));
    }
    events.push(this.event(seq, { messageCompleted: { ...message, messageId } }));
    return events;
  }

  /** Returns the missing part of a completed text. */
  private restOf(text: string): RunEvent[] {
    const known = this.sent ?? '';
    if (text === known) return [];
    const continues = text.startsWith(known) && (known !== '' || this.attempt !== undefined);
    return [continues ? this.delta(text.slice(known.length)) : this.snapshot(text)];
  }

  private async runMessage(run: RunRecord) {
    return runMessage(run, await viewOf(this.parts, run, [], this.context));
  }

  private async message(): Promise<MessageRecord | undefined> {
    return this.parts.messages.get(this.messageId);
  }

  private snapshot(text: string): RunEvent {
    this.sent = text;
    this.counted = { units: 0, points: 0 };
    return this.event(this.position, { messageSnapshot: { messageId: this.messageId, text } }, text.length);
  }

  private delta(text: string): RunEvent {
    const before = this.sent ?? '';
    this.sent = before + text;
    const delta = { messageId: this.messageId, offset: this.pointsOf(before), text };
    return this.event(this.position, { messageDelta: delta }, this.sent.length);
  }

  /** Returns the number of code points of the sent text, counting only the new part. */
  private pointsOf(text: string): number {
    const { units, points } = text.length < this.counted.units ? { units: 0, points: 0 } : this.counted;
    this.counted = { units: text.length, points: points + [...text.slice(units)].length };
    return this.counted.points;
  }

  private event(seq: number, body: Partial<Body>, within = 0): RunEvent {
    const position = this.reply * REPLY_ROOM + seq * TEXT_ROOM;
    return { ...NO_EVENT, ...body, id: String(position + Math.min(within, TEXT_ROOM - 1)) };
  }
}

const ENDINGS = {
  'run.completed': 'runCompleted',
  'run.failed': 'runFailed',
  'run.canceled': 'runCanceled',
  'run.expired': 'runExpired',
} as const;

const stepStatus = ({ status }: StepRecord): StepStatus => StepStatus[status.toUpperCase() as keyof typeof StepStatus];

/** Returns the message of a run without a session, which is not stored elsewhere. */
function messageOf(run: RunRecord): MessageRecord {
  const { id, messageId, tenant, output, draft, draftCitations, createdAt, model, spent, error, status } = run;
  return {
    ...{
      id: messageId,
      version: 0,
      tenant,
      sessionId: '',
      seq: 0,
      role: 'assistant',
      content: output?.text ?? draft ?? '',
    },
    ...{
      citations: output?.citations ?? draftCitations ?? [],
      sourceIds: run.sourceIds ?? [],
      isPrivate: run.isPrivate,
      droppedMessages: run.droppedMessages,
      runId: id,
      model,
      spent,
      error,
      isImported: false,
      createdAt,
    },
    ...{ degraded: output?.degraded ?? false, status: hasEnded(run) ? messageStatusOf(status as Ending) : 'streaming' },
  };
}
