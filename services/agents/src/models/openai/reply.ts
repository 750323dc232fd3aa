import { randomUUID } from 'node:crypto';
import { isObject } from '@commonplace/kit/json';
import type { EndReason, ModelToolCall, ModelUsage } from '../port.js';

/** Thrown for a chunk that is not a valid part of a reply. */
export class MalformedReply extends Error {
  override readonly name = 'MalformedReply';
}

interface Call {
  id: string;
  name: string;
  arguments: string;
}

/**
 * Assembles a reply from its chunks. They are untrusted: vendors omit indexes, ids and usage, or number all calls 0.
 */
export class ReplyAssembler {
  readonly #calls = new Map<number, Call>();
  #last = -1;
  #finish: string | undefined;
  #usage: ModelUsage | undefined;
  #bytes = 0;

  /** Whether the model has finished. The usage may still follow. */
  get isFinished(): boolean {
    return this.#finish !== undefined;
  }

  get usage(): ModelUsage | undefined {
    return this.#usage;
  }

  get receivedBytes(): number {
    return this.#bytes;
  }

  /** Adds a chunk of a stream, or a whole completion, and returns its text. Throws `MalformedReply`. */
  add(chunk: unknown): string {
    if (!isObject(chunk)) throw new MalformedReply('a chunk is not an object');
    this.#usage = usageOf(chunk.usage) ?? this.#usage;
    const choice = listOf(chunk.choices).find(({ index }) => index === undefined || index === 0);
    if (choice === undefined) return '';
    const delta = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : {};
    for (const call of listOf(delta.tool_calls)) this.#addCall(call);
    if (choice.finish_reason === 'error') throw new MalformedReply('the model failed');
    if (typeof choice.finish_reason === 'string') this.#finish = choice.finish_reason;
    const text = textOf(delta.content) + textOf(delta.refusal);
    // Reasoning is not shown, but it is charged.
    this.#bytes += Buffer.byteLength(text + textOf(delta.reasoning_content) + textOf(delta.reasoning));
    return text;
  }

  /** Returns the reason for the end and the calls. Throws `MalformedReply` if the reply has not ended. */
  end(): { readonly reason: EndReason; readonly calls: readonly ModelToolCall[] } {
    if (this.#finish === undefined) throw new MalformedReply('it broke off');
    if (this.#finish === 'length' || this.#finish === 'content_filter') return { reason: this.#finish, calls: [] };
    const calls = [...this.#calls.values()];
    if (calls.some(({ name }) => name === '')) throw new MalformedReply('a call of a tool has no name');
    return { reason: calls.length > 0 ? 'tool_calls' : 'stop', calls: withDistinctIds(calls) };
  }

  #addCall({ index, id, function: called }: Record<string, unknown>): void {
    const { name, arguments: more } = isObject(called) ? called : {};
    const written = typeof more === 'string' ? more : isObject(more) ? JSON.stringify(more) : '';
    const call = this.#callFor(index, textOf(id));
    call.name ||= textOf(name);
    call.arguments += written;
    this.#bytes += Buffer.byteLength(textOf(name) + written);
  }

  /**
   * Returns the call that a piece belongs to: the one with its index, otherwise the last one, unless the ids differ.
   */
  #callFor(index: unknown, id: string): Call {
    let key = typeof index === 'number' ? index : Math.max(this.#last, 0);
    const known = this.#calls.get(key);
    if (known !== undefined && (id === '' || known.id === '' || known.id === id)) {
      known.id ||= id;
      this.#last = key;
      return known;
    }
    if (known !== undefined) {
      const same = [...this.#calls].find(([, call]) => call.id === id);
      key = same?.[0] ?? Math.max(...this.#calls.keys()) + 1;
    }
    const call = this.#calls.get(key) ?? { id, name: '', arguments: '' };
    this.#calls.set(key, call);
    this.#last = key;
    return call;
  }
}

/** Gives calls a new id if the model has sent none or a duplicate. */
function withDistinctIds(calls: readonly Call[]): ModelToolCall[] {
  const seen = new Set<string>();
  return calls.map((call) => {
    const id = call.id === '' || seen.has(call.id) ? `call_${randomUUID().replaceAll('-', '')}` : call.id;
    seen.add(id);
    return { id, name: call.name, arguments: call.arguments.trim() === '' ? '{}' : call.arguments };
  });
}

function usageOf(value: unknown): ModelUsage | undefined {
  if (!isObject(value)) return undefined;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = value;
  return isCount(inputTokens) && isCount(outputTokens) ? { inputTokens, outputTokens } : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
