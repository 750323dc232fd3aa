import type { Schema } from '../../openapi/values.js';
import type { Arguments } from '../api/operations.js';
import type { SendOperation } from '../api/send.js';

export type { OperationAnswer } from '../api/send.js';

/** What the tool of a call may use. */
export interface ToolContext {
  /** Aborts when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** URL that people reach this server by. */
  readonly publicUrl: string;
  /** Characters of text that a result may have. */
  readonly resultChars: number;
  /** Milliseconds that a call may wait for work that goes on in the background. */
  readonly waitMs: number;
  readonly send: SendOperation;
  /** Returns whether the caller's credential opens an operation. */
  mayUse(operation: string): boolean;
  /** Tells a client that asked for it how far the call is. */
  progress(message: string): Promise<void>;
}

/** What a tool answers to the model. */
export interface ToolAnswer {
  /** Markdown. */
  readonly text: string;
  /** The same facts for programs; absent if the text says all. */
  readonly structured?: Readonly<Record<string, unknown>>;
}

/** A tool that models are offered. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  /** Tells a model when to use the tool and what it answers. */
  readonly description: string;
  /** The operations that it may send. A credential that does not open all of them is not offered the tool. */
  readonly operations: readonly string[];
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  /** Whether it reaches beyond this server, as a model with tools of its own does. */
  readonly isOpenWorld?: boolean;
  /** Performs a call whose arguments fit `properties`. */
  run(args: Arguments, context: ToolContext): Promise<ToolAnswer>;
}
