/** A JSON Schema (2020-12), or a part of the OpenAPI document. */
export type Schema = Record<string, unknown>;

export {
  type RecordedExample,
  type RecordedExamples,
  readRecordedExamples,
} from './recorded-examples.js';
