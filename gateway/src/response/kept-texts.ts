import { isComplete, SMALL_SIZE } from './large-values.js';

type Message = Readonly<Record<string, unknown>>;

/**
 * Returns `write` for messages of which some are part of several answers. The text of a frozen message is kept as long as
 * the message, unless it is large.
 */
export function keepTexts(write: (message: Message) => string): (message: Message) => string {
  const texts = new WeakMap<Message, string>();
  return (message) => {
    if (!Object.isFrozen(message)) return write(message);
    let text = texts.get(message);
    if (text === undefined) {
      text = write(message);
      if (text.length <= SMALL_SIZE && isComplete(text)) texts.set(message, text);
    }
    return text;
  };
}
