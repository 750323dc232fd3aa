import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../http.js';

/** A system whose processes that execute automations are killed. */
export interface Subject {
  /** Name in the output. */
  readonly name: string;
  /** Returns a client of the current processes. */
  client(): Client;
  /**
   * Kills a process that executes automations with SIGKILL, calls `meanwhile`, and starts another process instead.
   * Resolves when the new process is ready.
   */
  crash(meanwhile: () => Promise<void>): Promise<void>;
  /** Returns all records of a collection as stored by its service. */
  records<T>(service: string, collection: string): Promise<readonly T[]>;
}

/** A run that a client requested. */
export interface Asked {
  readonly name: string;
  id?: string;
  /** Epoch milliseconds of the first request and, below, of the answer that the run is stored. */
  sentAt?: number;
  answeredAt?: number;
}

export interface StoredRun {
  readonly id: string;
  readonly automationId: string;
  readonly seq: number;
  readonly status: string;
  readonly error?: { readonly code: string; readonly message: string };
  readonly lease?: { readonly epoch: number };
  readonly startedAt?: string;
  readonly finishedAt?: string;
}

/**
 * Milliseconds within which a request must be answered and a run must end. The lease of a killed process expires after
 * 15 s.
 */
export const STUCK_MS = 120_000;
const RETRY_MS = 50;

/**
 * Starts a run. Repeats the request with the same idempotency key until it is answered, so that only one run starts.
 */
export async function begin(subject: Subject, automationId: string, asked: Asked): Promise<void> {
  const body = { input: { name: asked.name } };
  const headers = { 'idempotency-key': asked.name };
  const until = performance.now() + STUCK_MS;
  asked.sentAt = Date.now();
  for (;;) {
    const answer = await subject
      .client()
      .send('POST', `/automations/${automationId}/run`, body, headers)
      .catch(() => undefined);
    if (answer?.status === 201) {
      asked.answeredAt = Date.now();
      asked.id = (JSON.parse(answer.text) as { data: { id: string } }).data.id;
      return;
    }
    const isWrong = answer !== undefined && answer.status < 500 && answer.status !== 409 && answer.status !== 429;
    if (isWrong || performance.now() > until) {
      throw new Error(`POST /run answers ${answer?.status}: ${answer?.text.slice(0, 300)}`);
    }
    await sleep(RETRY_MS);
  }
}

/** Waits until all runs of an automation have ended. Returns them. */
export async function untilEnded(subject: Subject, automationId: string): Promise<StoredRun[]> {
  let open = Number.POSITIVE_INFINITY;
  for (let until = 0; ; ) {
    const all = await subject.records<StoredRun>('automations', 'automation_runs');
    const runs = all.filter((run) => run.automationId === automationId);
    const live = runs.filter(({ status }) => ['queued', 'running', 'waiting'].includes(status)).length;
    if (live === 0) return runs;
    if (live < open) until = performance.now() + STUCK_MS;
    else if (performance.now() > until) return runs;
    open = live;
    await sleep(200);
  }
}

export const notCompleted = (runs: readonly StoredRun[]): string[] =>
  runs
    .filter(({ status }) => status !== 'completed')
    .map(({ id, status, error }) => `${id} is ${status}: ${error?.code} ${error?.message}`);
