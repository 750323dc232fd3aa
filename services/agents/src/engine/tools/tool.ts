import type { CallOptions } from '@commonplace/kit/rpc';
import type { TaintSource } from '../../domain/taint.js';
import type { Preview, ToolPlan } from '../../domain/tool-plan.js';
import type { ToolSchema } from '../../models/port.js';
import type { RunRecord } from '../../stores/runs.js';
import type { Need } from '../acting.js';
import type { Retrieval } from '../retrieval.js';
import type { FoundSource, Sources } from '../sources.js';

export type { Preview, Risk, ToolAction, ToolPlan } from '../../domain/tool-plan.js';

/** What a tool works with. */
export interface ToolContext {
  readonly run: RunRecord;
  readonly retrieval: Retrieval;
  readonly sources: Sources;
  readonly question: string;
  /** The question as far as the person has written it: empty if there is untrusted content in it. */
  readonly ownWords: string;
  /** The same for each attempt at a call: the idempotency key of what it changes. Empty while a call is only planned. */
  readonly toolCallId: string;
  /** Aborts when the run ends or its worker stops. */
  readonly signal: AbortSignal;
  /** Answer of a person to a question that the tool has asked before. */
  readonly answer?: Readonly<Record<string, unknown>> | undefined;
  /** What the tool has left with its question. */
  readonly state?: string | undefined;
  /** Returns the options of a call with the rights of the run, asked anew: for the agent and the person together. Throws `insufficient_scope`. */
  acting(timeoutMs?: number, need?: Need): Promise<CallOptions>;
}

/** A question to a person, which has to be answered before the call can go on. */
export interface ToolQuestion {
  readonly title: string;
  /** A flat JSON Schema of the answer. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
  /** A page to open instead of an answer; the server does not fetch it. */
  readonly url?: string | undefined;
  /** What the tool is given back with the answer; encrypted where it came from outside. */
  readonly state: string;
}

export interface ToolResult {
  /** What the model is told. */
  readonly text: string;
  /** Passages that the result gives to the model. */
  readonly found: readonly FoundSource[];
  /** Resources that the text comes from, besides the passages. */
  readonly drawnFrom?: readonly string[] | undefined;
  /** The text comes from where only its members read: nobody but the person who started the run may be told it. */
  readonly isPrivate?: boolean | undefined;
  readonly taints?: readonly TaintSource[] | undefined;
  /** Resources that were created or changed. */
  readonly resourceIds?: readonly string[] | undefined;
  /** The tool has failed in a way that the model is told. */
  readonly isError?: boolean | undefined;
  /** Instead of a result. */
  readonly question?: ToolQuestion | undefined;
}

/** A tool that a model can call. */
export interface Tool {
  /** The group by which an agent has it; absent for tools that come from elsewhere. */
  readonly group?: string | undefined;
  readonly schema: ToolSchema;
  /** Who else than the run's tenant has written what the tool says of itself: whoever is shown it has read that. */
  readonly taint?: TaintSource | undefined;
  /** Returns what a call would do, without doing it. Throws `InvalidArguments` for arguments that do not fit. */
  plan(args: Arguments, context: ToolContext): Promise<ToolPlan>;
  /**
   * Runs a call. Throws `InvalidArguments`; an `AppError` that is a refusal is told to the model; `OutcomeUnknown` where
   * a call that must not be repeated may or may not have taken effect.
   */
  call(args: Arguments, context: ToolContext): Promise<ToolResult>;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** The arguments of a call do not fit its tool; the model is told so. */
export class InvalidArguments extends Error {}

/** It is not known whether a call has taken effect. */
export class OutcomeUnknown extends Error {}

/** Returns a text argument without the blanks at its ends. */
export function textArgument(args: Arguments, name: string): string {
  const value = args[name];
  if (typeof value !== 'string' || value.trim() === '') throw new InvalidArguments(`${name} must be a text.`);
  return value.trim();
}

/** Returns the plan of a call that changes nothing. */
export function readingPlan(title: string, toolHash = ''): ToolPlan {
  return { action: 'read', effect: 'none', risk: 'low', isSink: false, title, preview: NO_PREVIEW, toolHash };
}

export const NO_PREVIEW: Preview = { text: '', targets: [], recipients: [], hosts: [] };
