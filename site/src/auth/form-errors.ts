import type { AppError } from '@commonplace/kit/errors';
import { httpError } from '@commonplace/kit/http';

/** The errors with which a form is shown again. */
export interface FormErrors {
  readonly status: number;
  /** Messages that do not belong to a single field. */
  readonly messages: readonly string[];
  /** Error messages of faulty fields, by field name. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Assigns the messages of an error to the fields of a form. `labels` contains the names of the fields on the page. */
export function formErrorsOf(error: AppError, labels: Readonly<Record<string, string>>): FormErrors {
  const fields: Record<string, string> = {};
  const messages: string[] = [];
  for (const { param, message } of error.faults) {
    const label = labels[param];
    if (label === undefined) messages.push(sentence(message));
    // A fault's message begins with the field's JSON name, which the label replaces.
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
