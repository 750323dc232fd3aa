import { setImmediate } from 'node:timers/promises';
import { createBreathe } from '@commonplace/kit/slices';
import { estimateInputTokens, estimateTokens } from '../estimate.js';
import {
  type ChatModel,
  EXTRACTIVE_MODEL_ID,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  ModelUnavailable,
} from '../port.js';
import { type Quote, selectQuotes } from './select.js';

const NOTHING = 'I found nothing about this in the documents that you can read.';
const MATCHES = 'These passages answer the question best:';
const BEGINNINGS = 'No passage has the words of your question. These come closest in meaning:';

/** Maximum number of passages, and characters of each, that are read; more would take too long. */
const MAX_PASSAGES = 500;
const MAX_PASSAGE_CHARS = 20_000;

function infoOf(isDefault: boolean): ModelInfo {
  return {
    id: EXTRACTIVE_MODEL_ID,
    name: 'Quotes from documents',
    provider: 'local',
    contextTokens: 1_000_000,
    maxOutputTokens: 4096,
    supportsTools: false,
    supportsStreaming: true,
    rates: { inputPer1k: 0, outputPer1k: 0 },
    isDefault,
  };
}

/**
 * Opens the built-in model. It has no weights: it quotes the sentences of the request's passages that answer the
 * question best, and says so if there are none.
 */
export function openExtractiveModel(isDefault: boolean): ChatModel {
  const info = infoOf(isDefault);
  return {
    info,
    async *generate(request, signal) {
      if (signal.aborted) return yield { type: 'end', reason: 'aborted', receivedBytes: 0 };
      const limit = Math.min(request.maxOutputTokens, info.maxOutputTokens);
      let text = '';
      let isCut = false;
      try {
        for await (const piece of piecesOf(request, signal)) {
          isCut = estimateTokens(text + piece) > limit;
          if (signal.aborted || isCut) break;
          text += piece;
          yield { type: 'text', text: piece };
        }
      } catch (error) {
        if (!signal.aborted) throw new ModelUnavailable('the built-in model failed', { cause: error });
      }
      yield endOf(request, text, signal.aborted ? 'aborted' : isCut ? 'length' : 'stop');
    },
  };
}

function endOf(request: ModelRequest, text: string, reason: 'aborted' | 'length' | 'stop'): ModelEvent {
  const usage = { inputTokens: estimateInputTokens(request), outputTokens: estimateTokens(text) };
  return { type: 'end', reason, usage, receivedBytes: Buffer.byteLength(text) };
}

/** Yields the reply in pieces: an introduction, then the name of each source with its quotes. */
async function* piecesOf(request: ModelRequest, signal: AbortSignal): AsyncGenerator<string> {
  const passages = (request.passages ?? [])
    .slice(0, MAX_PASSAGES)
    .map((passage) => ({ ...passage, text: passage.text.slice(0, MAX_PASSAGE_CHARS) }));
  const { quotes, isMatch } = await selectQuotes(questionOf(request), passages, createBreathe(signal));
  if (quotes.length === 0) return yield NOTHING;
  yield isMatch ? MATCHES : BEGINNINGS;
  for (const ofSource of bySource(quotes)) {
    yield `\n\n**${escaped(ofSource[0]?.passage.name ?? '')}**\n\n`;
    for (const [i, { text, passage }] of ofSource.entries()) {
      // Lets readers of the stream see each quote as it comes.
      await setImmediate();
      yield `${i === 0 ? '' : '\n>\n'}> ${quoted(text)} [${passage.marker}]`;
    }
  }
}

/** Returns the question, or the last user message if the request has none. */
function questionOf({ question, messages }: ModelRequest): string {
  if (question !== undefined) return question;
  return messages.filter(({ role }) => role === 'user').at(-1)?.content ?? '';
}

function bySource(quotes: readonly Quote[]): readonly Quote[][] {
  const groups = new Map<string, Quote[]>();
  for (const quote of quotes) {
    const { sourceId, name } = quote.passage;
    const key = sourceId ?? `name ${name}`;
    groups.set(key, [...(groups.get(key) ?? []), quote]);
  }
  return [...groups.values()];
}

/** Escapes numbers in brackets, which would be read as citations of other passages. */
function quoted(text: string): string {
  return text.replace(/\[(\d+)\]/g, '\\[$1\\]');
}

function escaped(name: string): string {
  return quoted(name.replace(/\s+/g, ' ').replace(/[\\*_`<>]/g, '\\$&'));
}
