import { AppError, invalidFields } from '@commonplace/kit/errors';
import { ERROR_CODES } from '@commonplace/platform/error-codes';
import { describe, expect, test } from '@jest/globals';
import { GERMAN } from '../src/messages/de.js';
import { SPANISH } from '../src/messages/es.js';
import { FRENCH } from '../src/messages/fr.js';
import { localize } from '../src/messages/localize.js';

const CODES = [...new Set(Object.values(ERROR_CODES).flatMap((meanings) => Object.keys(meanings)))].sort();
const placeholdersOf = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

describe.each([
  ['German', GERMAN],
  ['French', FRENCH],
  ['Spanish', SPANISH],
])('%s', (_, { codes, rules }) => {
  test('has every code of the catalogue, and no other', () => {
    expect(Object.keys(codes).sort()).toEqual(CODES);
  });

  test('has every rule of the other languages, with the same placeholders', () => {
    expect(Object.keys(rules)).toEqual(Object.keys(GERMAN.rules));
    for (const [text, template] of Object.entries(rules))
      expect(placeholdersOf(template)).toEqual(placeholdersOf(text));
  });
});

test('translates a known text with its values', () => {
  const error = invalidFields([
    { param: 'name', code: 'invalid_value', message: 'name must have 1 to 255 characters.' },
    { param: 'type', code: 'invalid_value', message: 'type must be one of document, table.' },
    { param: 'sum', code: 'invalid_value', message: 'must have 64 characters.' },
    { param: 'size', code: 'missing_field', message: 'is required.' },
  ]);
  expect(localize(error, 'de')).toEqual({
    message: '4 Felder sind nicht gültig.',
    faults: [
      { param: 'name', code: 'invalid_value', message: 'name muss 1 bis 255 Zeichen haben.' },
      { param: 'type', code: 'invalid_value', message: 'type muss einer dieser Werte sein: document, table.' },
      { param: 'sum', code: 'invalid_value', message: 'sum muss 64 Zeichen haben.' },
      { param: 'size', code: 'missing_field', message: 'size ist erforderlich.' },
    ],
  });
});

test('returns the meaning of the code for any other text', () => {
  const error = new AppError('NOT_FOUND', 'not_found', 'There is no agent of this name.', { param: 'agent_id' });
  expect(localize(error, 'fr').message).toBe('agent_id: Cela n’existe pas, ou vous ne pouvez pas le voir.');
  expect(localize(error, 'en').message).toBe('There is no agent of this name.');
});
