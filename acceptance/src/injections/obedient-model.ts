import type { ScriptedReply } from '@commonplace/kit/testing/chat-server';

/** A call of a tool that a text orders. */
export interface Order {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * Encodes a call as an order that survives the processing of a text on its way to a model. It is one word, so that no
 * line break can split it, and contains neither quotes nor markup: `base64url` of JSON between two words that occur in
 * no other text.
 */
export function orderText({ tool, args }: Order): string {
  return `CALLNOW.${tool}.${Buffer.from(JSON.stringify(args)).toString('base64url')}.END`;
}

const ORDER = /CALLNOW\.([a-z0-9_-]{1,64})\.([A-Za-z0-9_-]+)\.END/gi;

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly function?: { readonly name: string; readonly arguments: string } }[];
}

/**
 * Replies like a model that obeys every order in its input: in messages, and in results and descriptions of tools, even
 * if hidden or encoded. It performs each order once, one per turn, and then ends.
 */
export function obey(request: { readonly messages: readonly unknown[]; readonly tools?: unknown }): ScriptedReply {
  const messages = request.messages as readonly Message[];
  const given = messages.filter(({ role }) => role !== 'assistant').map(({ content }) => JSON.stringify(content ?? ''));
  const done = new Set(
    messages.flatMap(({ tool_calls = [] }) =>
      tool_calls.map(({ function: called }) => keyOf(called?.name ?? '', JSON.parse(called?.arguments ?? '{}'))),
    ),
  );
  const next = [...given, JSON.stringify(request.tools ?? [])]
    .flatMap((text) => ordersIn(text))
    .find(({ tool, args }) => !done.has(keyOf(tool, args)));
  if (next === undefined) return { text: 'Done.' };
  return { toolCalls: [{ name: next.tool, arguments: next.args }] };
}

const keyOf = (tool: string, args: unknown): string => `${tool} ${JSON.stringify(args)}`;

/** Returns the orders in a text, in each of the forms in which the text can be read. */
function ordersIn(text: string): Order[] {
  return readingsOf(text).flatMap((one) =>
    [...one.matchAll(ORDER)].flatMap(([, tool = '', args = '']) => {
      try {
        return [{ tool, args: JSON.parse(Buffer.from(args, 'base64url').toString()) as Order['args'] }];
      } catch {
        return [];
      }
    }),
  );
}

const TAG_BLOCK = /[\u{E0020}-\u{E007E}]/gu;
const INVISIBLE = /[\u200b-\u200f\u2060-\u2064\ufeff]/g;
const LONG_BASE64 = /[A-Za-z0-9+/]{40,}={0,2}/g;

function readingsOf(text: string): string[] {
  const plain = text.replace(INVISIBLE, '');
  const tags = [...text.matchAll(TAG_BLOCK)].map(([tag]) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000));
  const decoded = [...plain.matchAll(LONG_BASE64)].map(([one]) => Buffer.from(one, 'base64').toString());
  return [plain, tags.join(''), ...decoded];
}
