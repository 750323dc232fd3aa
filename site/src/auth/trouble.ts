import type { AppError } from '@commonplace/kit/errors';
import { httpError } from '@commonplace/kit/http';

/** Error for which a form is shown again. */
export interface Trouble {
  readonly status: number;
  /** Messages that are not about one field. */
  readonly messages: readonly string[];
  /** Error message of each faulty field, by its name. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Assigns an error's messages to the fields of a form; `labels` are the fields' names on the page. */
export function troubleOf(error: AppError, labels: Readonly<Record<string, string>>): Trouble {
  const fields: Record<string, string> = {};
  const messages: string[] = [];
  for (const { param, message } of error.faults) {
    const label = labels[param];
    if (label === undefined) messages.push(sentence(message));
    // A fault's message begins with the field's name in JSON, which the label replaces.
    else fields[param] ??= sentence(message.startsWith(param) ? label + message.slice(param.length) : message);
  }
  if (error.faults.length === 0) messages.push(sentence(error.message), ...waiting(error));
  return { status: httpError(error).status, messages, fields };
}

function waiting({ retryAfter }: AppError): string[] {
  if (retryAfter === undefined) return [];
  return [retryAfter < 90 ? `Try again in ${retryAfter} s.` : `Try again in ${Math.ceil(retryAfter / 60)} minutes.`];
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
