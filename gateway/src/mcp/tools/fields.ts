import type { Schema } from '../../openapi/values.js';

/** Schemas of arguments that several tools share. */

export const text = (description: string): Schema => ({ type: 'string', description });
export const choice = (description: string, ...values: string[]): Schema => ({
  type: 'string',
  enum: values,
  description,
});
export const whole = (description: string, minimum: number, maximum: number): Schema => ({
  type: 'integer',
  minimum,
  maximum,
  description,
});
export const list = (description: string, items: Schema = { type: 'string' }): Schema => ({
  type: 'array',
  items,
  description,
});

export const RESOURCE_ID = text('Id of a document, table, folder, artifact or file, as `search` and `list` return it.');
export const LIMIT = whole('How many to return; 20 when absent.', 1, 100);
export const CURSOR = text('The cursor that the page before ended with.');
export const BASE_VERSION: Schema = {
  type: 'integer',
  minimum: 0,
  description: 'The version that was read. The write is refused with `version_conflict` if there is a newer one.',
};

/** Default number of rows of a page. It is small, because a model reads each row. */
export const PAGE_ROWS = 20;
