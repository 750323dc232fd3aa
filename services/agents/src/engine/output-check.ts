import { type ModelJson, readModelJson } from '../domain/model-json.js';
import { MAX_NESTING } from '../domain/nesting.js';
import type { JsonSchema } from '../domain/schema-check.js';
import type { ModelMessage } from '../models/port.js';
import type { SchemaChecks } from '../schemas/index.js';
import { RunFailure } from './failure.js';
import type { TurnOutput } from './step-log.js';

/** A JSON value in a wrapper, which distinguishes null from no value. */
interface ReadOutput {
  readonly value: unknown;
}

/** Checks the result of a run against the user's JSON Schema. */
export class OutputCheck {
  /** Maximum number of times that the model is asked again after an invalid answer. */
  static readonly REPAIRS = 2;

  constructor(
    readonly schema: JsonSchema,
    private readonly schemas: SchemaChecks,
    private readonly tenant: string,
  ) {}

  get instruction(): string {
    return `Answer with one JSON value alone that follows this JSON Schema: ${JSON.stringify(this.schema)}`;
  }

  /** Returns whether the model has to answer again. Throws the run failure `output_invalid` after too many attempts. */
  async wantsRepair(turn: TurnOutput, turns: readonly TurnOutput[]): Promise<boolean> {
    if ((await this.read(turn.text)) !== undefined) return false;
    const failed = turns.filter(({ toolCalls }) => toolCalls.length === 0).length;
    if (failed <= OutputCheck.REPAIRS) return true;
    const fault = await this.faultIn(turn.text);
    throw new RunFailure('output_invalid', `The result does not follow the schema: ${fault}`, true);
  }

  /** Returns the messages about a run so far, each answer that does not follow the schema with what is wrong with it. */
  async withRepairs(messages: readonly ModelMessage[]): Promise<ModelMessage[]> {
    const isAnswer = (message: ModelMessage) => message.role === 'assistant' && !message.toolCalls?.length;
    const repaired = await Promise.all(
      messages.map(async (message) =>
        isAnswer(message) ? [message, repairOf(await this.faultIn(message.content))] : [message],
      ),
    );
    return repaired.flat();
  }

  /** Returns the JSON value of an answer; undefined if it is not JSON or does not follow the schema. */
  async read(text: string): Promise<ReadOutput | undefined> {
    const found = parse(text);
    return 'value' in found && (await this.faultOf(found)) === undefined ? found : undefined;
  }

  /** Returns the faults of an answer. */
  async faultIn(text: string): Promise<string> {
    const found = parse(text);
    return 'value' in found ? ((await this.faultOf(found)) ?? '') : FAULTS[found.fault];
  }

  private faultOf({ value }: ReadOutput): Promise<string | undefined> {
    return this.schemas.faultIn(this.tenant, this.schema, value);
  }
}

function repairOf(fault: string): ModelMessage {
  return {
    role: 'user',
    content: `That does not follow the schema: ${fault} Answer again, with the JSON value alone.`,
  };
}

const FAULTS = {
  syntax: 'It is not JSON.',
  depth: `It is nested more than ${MAX_NESTING} levels deep.`,
  number: 'It has a number that is too large.',
} as const;

const FENCE = '```';

/** Parses an answer, with or without a code fence around it. */
function parse(text: string): ModelJson {
  return readModelJson(withoutFence(text.trim()));
}

function withoutFence(text: string): string {
  const opening = /^```(?:json)?[^\S\n]*\n/.exec(text)?.[0];
  const isFenced = opening !== undefined && text.endsWith(FENCE) && text.length >= opening.length + FENCE.length;
  return isFenced ? text.slice(opening.length, -FENCE.length) : text;
}
