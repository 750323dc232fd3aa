import type { Fault } from '@commonplace/kit/errors';

/**
 * Returns the message of a fault for a page. Messages begin with the field's name in the API, which people do not know:
 * `label` replaces it, or it is dropped if a whole sentence follows after a colon.
 */
export function faultText({ param, message }: Pick<Fault, 'param' | 'message'>, label: string): string {
  if (!message.startsWith(param)) return sentence(message);
  const rest = message.slice(param.length);
  return sentence(rest.startsWith(': ') ? rest.slice(2) : `${label}${rest}`.trim());
}

/** Capitalizes the first letter of a message. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
