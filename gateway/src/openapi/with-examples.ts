import type { RecordedExample, RecordedExamples } from '@commonplace/platform/api-document';
import { codeSamples, type SampleOptions } from './code-samples.js';
import type { Schema } from './values.js';

/** Adds the recorded answer, and the request in several languages, to an operation that has a recording. */
export function withExample(method: string, operation: Schema, examples: RecordedExamples): Schema {
  const example = examples[String(operation.operationId)];
  if (example === undefined) return operation;
  return {
    ...operation,
    responses: withAnswer(operation.responses as Record<string, Schema>, example),
    'x-codeSamples': codeSamples(example, { method: method.toUpperCase(), credential: credentialOf(operation) }),
  };
}

function credentialOf({ security }: Schema): SampleOptions['credential'] {
  const [first] = (security ?? []) as Schema[];
  if (first === undefined) return 'none';
  return Object.hasOwn(first, 'bearer') ? 'key' : 'session';
}

/**
 * Adds the recorded answer as an example. Error answers are components that operations share, so they stay unchanged.
 */
function withAnswer(responses: Record<string, Schema>, { response }: RecordedExample): Schema {
  const described = responses[response.status];
  const content = described?.content as Record<string, Schema> | undefined;
  const json = content?.['application/json'];
  if (described === undefined || json === undefined || response.body === undefined) return responses;
  const shown = { ...content, 'application/json': { ...json, example: response.body } };
  return { ...responses, [response.status]: { ...described, content: shown } };
}
