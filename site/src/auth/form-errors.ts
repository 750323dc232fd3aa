import type { AppError } from '@commonplace/kit/errors';
import { httpError } from '@commonplace/kit/http';
import { faultText, sentence } from '../page/fault-text.js';

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
  for (const fault of error.faults) {
    const { param } = fault;
    const label = labels[param];
    if (label === undefined) messages.push(faultText(fault, param));
    else fields[param] ??= faultText(fault, label);
  }
  if (error.faults.length === 0) messages.push(sentence(error.message), ...waiting(error));
  return { status: httpError(error).status, messages, fields };
}

function waiting({ retryAfter }: AppError): string[] {
  if (retryAfter === undefined) return [];
  return [retryAfter < 90 ? `Try again in ${retryAfter} s.` : `Try again in ${Math.ceil(retryAfter / 60)} minutes.`];
}
