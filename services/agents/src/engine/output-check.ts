import { isTextTooDeep, MAX_NESTING } from '../domain/nesting.js';
import { faultIn, type JsonSchema } from '../domain/schema-check.js';
import type { ModelMessage } from '../models/port.js';
import { RunFailure } from './failure.js';
import type { TurnOutput } from './step-log.js';

/** A JSON value in a wrapper, which distinguishes null from no value. */
export interface ReadOutput {
  readonly value: unknown;
}

/** Checks the result of a run against the user's JSON Schema, which is interpreted and never compiled to code. */
export class OutputCheck {
  /** Maximum number of times that the model is asked again after an invalid answer. */
  static readonly REPAIRS = 2;

  constructor(readonly schema: JsonSchema) {}

  get instruction(): string {
    return `Answer with one JSON value alone that follows this JSON Schema: ${JSON.stringify(this.schema)}`;
  }

  /** Returns whether the model has to answer again. Throws the run failure `output_invalid` after too many attempts. */
  wantsRepair(turn: TurnOutput, turns: readonly TurnOutput[]): boolean {
    if (this.read(turn.text) !== undefined) return false;
    const failed = turns.filter(({ toolCalls }) => toolCalls.length === 0).length;
    if (failed <= OutputCheck.REPAIRS) return true;
    const fault = this.faultIn(turn.text);
    throw new RunFailure('output_invalid', `The result does not follow the schema: ${fault}`, true);
  }

  /** Returns the message to the model about a result that does not follow the schema. */
  repairOf(turn: TurnOutput | undefined): ModelMessage | undefined {
    if (turn === undefined || turn.toolCalls.length > 0) return undefined;
    const fault = this.faultIn(turn.text);
    return {
      role: 'user',
      content: `That does not follow the schema: ${fault} Answer again, with the JSON value alone.`,
    };
  }

  /** Returns the JSON value of an answer; undefined if it is not JSON or does not follow the schema. */
  read(text: string): ReadOutput | undefined {
    const found = parse(text);
    return found !== undefined && faultIn(this.schema, found.value) === undefined ? found : undefined;
  }

  /** Returns the faults of an answer. */
  faultIn(text: string): string {
    const found = parse(text);
    if (found === undefined) return isTextTooDeep(text) ? TOO_DEEP : 'It is not JSON.';
    return faultIn(this.schema, found.value) ?? '';
  }
}

const TOO_DEEP = `It is nested more than ${MAX_NESTING} levels deep.`;

/** Parses an answer, with or without a code fence around it. */
function parse(text: string): ReadOutput | undefined {
  const inner = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text;
  if (isTextTooDeep(inner)) return undefined;
  try {
    return { value: JSON.parse(inner) };
  } catch {
    return undefined;
  }
}
