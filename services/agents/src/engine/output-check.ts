import { faultIn, type JsonSchema } from '../domain/schema-check.js';
import type { ModelMessage } from '../models/port.js';
import { RunFailure } from './failure.js';
import type { TurnOutput } from './step-log.js';

/** A JSON value in a wrapper, so that null is a value as well. */
export interface ReadOutput {
  readonly value: unknown;
}

/** Holds the result of a run to a JSON Schema of its user, which is interpreted and never compiled to code. */
export class OutputCheck {
  /** Answers that do not follow the schema, after each of which the model is asked again. */
  static readonly REPAIRS = 2;

  constructor(readonly schema: JsonSchema) {}

  get instruction(): string {
    return `Answer with one JSON value alone that follows this JSON Schema: ${JSON.stringify(this.schema)}`;
  }

  /** Returns whether the model is to answer again. Throws the failure of a run that was repaired often enough. */
  wantsRepair(turn: TurnOutput, turns: readonly TurnOutput[]): boolean {
    if (this.read(turn.text) !== undefined) return false;
    const failed = turns.filter(({ toolCalls }) => toolCalls.length === 0).length;
    if (failed <= OutputCheck.REPAIRS) return true;
    const fault = this.faultIn(turn.text);
    throw new RunFailure('output_invalid', `The result does not follow the schema: ${fault}`, true);
  }

  /** Returns what the model is told of a result that does not follow the schema. */
  repairOf(turn: TurnOutput | undefined): ModelMessage | undefined {
    if (turn === undefined || turn.toolCalls.length > 0) return undefined;
    const fault = this.faultIn(turn.text);
    return {
      role: 'user',
      content: `That does not follow the schema: ${fault} Answer again, with the JSON value alone.`,
    };
  }

  /** Returns the JSON value of an answer; undefined if it is none, or does not follow the schema. */
  read(text: string): ReadOutput | undefined {
    const found = parse(text);
    return found !== undefined && faultIn(this.schema, found.value) === undefined ? found : undefined;
  }

  /** Says what is wrong with an answer. */
  faultIn(text: string): string {
    const found = parse(text);
    if (found === undefined) return 'It is not JSON.';
    return faultIn(this.schema, found.value) ?? '';
  }
}

/** Parses an answer, with or without a fence of code around it. */
function parse(text: string): ReadOutput | undefined {
  const inner = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text;
  try {
    return { value: JSON.parse(inner) };
  } catch {
    return undefined;
  }
}
