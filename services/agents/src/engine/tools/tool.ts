import type { CallOptions } from '@commonplace/kit/rpc';
import type { TaintSource } from '../../domain/taint.js';
import type { Preview, ToolPlan } from '../../domain/tool-plan.js';
import type { ToolSchema } from '../../models/port.js';
import type { RunRecord } from '../../stores/runs.js';
import type { Need } from '../acting.js';
import type { Retrieval } from '../retrieval.js';
import type { FoundSource, Sources } from '../sources.js';

export type { Preview, Risk, ToolAction, ToolPlan } from '../../domain/tool-plan.js';

/** The input of a tool. */
export interface ToolContext {
  readonly run: RunRecord;
  readonly retrieval: Retrieval;
  readonly sources: Sources;
  readonly question: string;
  /** The question, if the person wrote all of it; empty if it contains untrusted content. */
  readonly ownWords: string;
  /**
   * The idempotency key of the call's changes, which is the same for each attempt. Empty while a call is only planned.
   */
  readonly toolCallId: string;
  /** Aborts when the run ends or its worker stops. */
  readonly signal: AbortSignal;
  /** The person's answer to a question that the tool has asked before. */
  readonly answer?: Readonly<Record<string, unknown>> | undefined;
  /** The state that the tool stored with its question. */
  readonly state?: string | undefined;
  /**
   * Returns the options of a call with the current rights of the agent and the person together. Throws
   * `insufficient_scope`.
   */
  acting(timeoutMs?: number, need?: Need): Promise<CallOptions>;
}

/** A question to a person that has to be answered before the call can continue. */
export interface ToolQuestion {
  readonly title: string;
  /** The schema of the answer: a flat JSON Schema. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
  /** A page to be opened instead of an answer. The server does not fetch it. */
  readonly url?: string | undefined;
  /** State that is passed back to the tool with the answer; encrypted if it comes from outside. */
  readonly state: string;
}

export interface ToolResult {
  /** The text for the model. */
  readonly text: string;
  /** Passages for the model, which become numbered sources. */
  readonly found: readonly FoundSource[];
  /** What the text is, if it comes from outside, such as `the page …`. The model receives it fenced as data. */
  readonly origin?: string | undefined;
  /** The resources that the text was drawn from, besides the passages. */
  readonly drawnFrom?: readonly string[] | undefined;
  /** Whether only the person who started the run may see the text, because only members can read its origin. */
  readonly isPrivate?: boolean | undefined;
  readonly taints?: readonly TaintSource[] | undefined;
  /** Resources that were created or changed. */
  readonly resourceIds?: readonly string[] | undefined;
  /** Whether the call has failed; the text then reports the failure to the model. */
  readonly isError?: boolean | undefined;
  /** A question that takes the place of a result. */
  readonly question?: ToolQuestion | undefined;
}

/** A tool that a model can call. */
export interface Tool {
  /** The group of a built-in tool; absent for other tools. */
  readonly group?: string | undefined;
  readonly schema: ToolSchema;
  /**
   * The taint of the tool's own description, if it was written outside of the tenant. A run that shows it to its model
   * is tainted.
   */
  readonly taint?: TaintSource | undefined;
  /** Returns what a call would do, without doing it. Throws `InvalidArguments`. */
  plan(args: Arguments, context: ToolContext): Promise<ToolPlan>;
  /**
   * Executes a call. Throws `InvalidArguments`; an `AppError` whose refusal is reported to the model; or
   * `OutcomeUnknown` if a call that must not be repeated may have taken effect.
   */
  call(args: Arguments, context: ToolContext): Promise<ToolResult>;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** Thrown if the arguments of a call do not fit its tool; the message is reported to the model. */
export class InvalidArguments extends Error {}

/** Thrown if it is unknown whether a call has taken effect. */
export class OutcomeUnknown extends Error {}

/** Returns a text argument, trimmed. Throws `InvalidArguments` if it is missing or blank. */
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
