import type { AppError } from '@commonplace/kit/errors';
import type { FormPage } from '@commonplace/proto/resources/v1/form_page_service.js';
import { faultText, sentence } from '../page/fault-text.js';
import type { FormAnswers } from './view/form-page.js';

const LATER = 'Your answers could not be stored now. Send them again in a moment.';
const EXPIRED = 'The page was open for too long. Check your answers and send them again.';

/** Assigns the messages of an error with an HTTP status to the fields of a form. */
export function faultsOf(
  error: AppError,
  { fields }: FormPage,
  status: number,
): Pick<FormAnswers, 'faults' | 'messages'> {
  const faults = new Map<string, string>();
  const messages: string[] = [];
  if (status >= 500) return { faults, messages: [LATER] };
  if (error.code === 'UNAUTHENTICATED') return { faults, messages: [EXPIRED] };
  for (const fault of error.faults) {
    const { param } = fault;
    const field = fields.find(({ id }) => param === `values.${id}` || param.startsWith(`values.${id}[`));
    if (field === undefined) messages.push(faultText(fault, param));
    // The message is shown next to its field, so it needs no name.
    else if (!faults.has(field.id)) faults.set(field.id, faultText(fault, ''));
  }
  if (error.faults.length === 0) messages.push(sentence(error.message));
  return { faults, messages };
}
