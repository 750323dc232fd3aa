import type { Fault } from '@commonplace/kit/errors';

/**
 * Returns the message of a fault as a page shows it. It begins with the field's name in the API, which people do not
 * know: `label` replaces it, and a whole sentence, which comes behind a colon, needs no name.
 */
export function faultText({ param, message }: Pick<Fault, 'param' | 'message'>, label: string): string {
  if (!message.startsWith(param)) return sentence(message);
  const rest = message.slice(param.length);
  return sentence(rest.startsWith(': ') ? rest.slice(2) : `${label}${rest}`.trim());
}

/** Capitalizes the first letter of a message. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
