import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { textOf } from './request.js';
import type { Script, ScriptedReply } from './script.js';

/** Chooses the reply to each call. */
export interface Conversations {
  add(script: Script): void;
  clear(): void;
  /** Returns the reply of the first script that matches and is not used up, those with `match` first; otherwise an echo. */
  replyTo(messages: readonly ChatCompletionMessageParam[]): ScriptedReply;
}

export function createConversations(): Conversations {
  let scripts: (Pick<Script, 'match' | 'by'> & { readonly replies: ScriptedReply[] })[] = [];
  return {
    add: ({ match, by, replies }) => {
      scripts.push({ match, by, replies: [...replies] });
    },
    clear: () => {
      scripts = [];
    },
    replyTo(messages) {
      const said = messages.filter(({ role }) => role !== 'assistant' && role !== 'tool').map(textOf);
      const fits = ({ match, replies }: (typeof scripts)[number]): boolean =>
        replies.length > 0 && (match === undefined || said.some((text) => text.includes(match)));
      const script = scripts.find((one) => one.match !== undefined && fits(one)) ?? scripts.find(fits);
      const reply = script?.by === 'turn' ? script.replies[turnOf(messages)] : script?.replies.shift();
      return reply ?? echo(messages);
    },
  };
}

/** Returns the number of tool calls since the last message of the person. */
function turnOf(messages: readonly ChatCompletionMessageParam[]): number {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  return messages.slice(asked).filter((message) => 'tool_calls' in message && message.tool_calls !== undefined).length;
}

function echo(messages: readonly ChatCompletionMessageParam[]): ScriptedReply {
  const last = messages.at(-1);
  return { text: last === undefined ? 'Hello.' : `You said: ${textOf(last)}` };
}
