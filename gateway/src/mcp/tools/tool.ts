import type { Schema } from '../../openapi/values.js';
import type { Arguments } from '../api/operations.js';
import type { SendOperation } from '../api/send.js';

export type { OperationAnswer } from '../answers/index.js';

/** What the run of a tool can use. */
export interface ToolContext {
  /** Aborts when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** URL by which people reach this server. */
  readonly publicUrl: string;
  /** Maximum number of characters of text in a result. */
  readonly resultChars: number;
  /** Maximum time in milliseconds that a call waits for background work. */
  readonly waitMs: number;
  readonly send: SendOperation;
  /** Returns whether the caller's credential opens an operation. */
  mayUse(operation: string): boolean;
  /** Sends progress to the client, if it has asked for it. */
  progress(message: string): Promise<void>;
}

/** The answer of a tool to the model. */
export interface ToolAnswer {
  /** Markdown. */
  readonly text: string;
  /** The same facts for programs; absent if the text is complete. */
  readonly structured?: Readonly<Record<string, unknown>>;
}

/** A tool that is offered to models. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  /** Describes for a model when to use the tool and what it returns. */
  readonly description: string;
  /** The operations that the tool may send. It is offered only to credentials that open all of them. */
  readonly operations: readonly string[];
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  /** Whether it can reach systems outside this server, as a model with its own tools can. */
  readonly isOpenWorld?: boolean;
  /** Runs a call whose arguments fit `properties`. */
  run(args: Arguments, context: ToolContext): Promise<ToolAnswer>;
}
