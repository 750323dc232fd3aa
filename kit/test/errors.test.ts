import { describe, expect, test } from '@jest/globals';
import { AppError, asAppError, invalidField, invalidFields, isPassing } from '../src/errors/index.js';

const messageOf = (param: string, message: string) => invalidField(param, 'invalid_value', message).message;

describe('the message about a field', () => {
  test('begins with the name of the field', () => {
    expect(messageOf('tags', 'must be a list.')).toBe('tags must be a list.');
    expect(messageOf('member_ids[1]', 'names a person twice.')).toBe('member_ids[1] names a person twice.');
    expect(messageOf('name', 'names nothing.')).toBe('name names nothing.');
    expect(messageOf('rows[2]', 'A row must be an object.')).toBe('rows[2]: A row must be an object.');
  });

  test('has the name once', () => {
    expect(messageOf('content', 'content is required.')).toBe('content is required.');
    expect(messageOf('columns[0].type', 'type must be one of text, number.')).toBe(
      'columns[0].type must be one of text, number.',
    );
    expect(messageOf('cron', 'cron, interval_seconds or run_at is required.')).toBe(
      'cron, interval_seconds or run_at is required.',
    );
  });

  test('is the same in the details of the error', () => {
    const faults = ['a', 'b'].map((param) => ({ param, code: 'missing_field', message: 'is required.' }));
    const { message, faults: details } = invalidFields(faults);
    expect(message).toBe('2 fields are not valid.');
    expect(details.map((fault) => fault.message)).toEqual(['a is required.', 'b is required.']);
  });
});

describe('an error about what a client has sent', () => {
  const long = `\ud800${'漢'.repeat(10_000)}`;

  test('repeats the beginning of long names and texts only', () => {
    const { message, param, faults } = invalidField(`rows[0].${long}`, 'unknown_column', `There is no column ${long}.`);
    expect(param).toMatch(/^rows\[0\]\.\ufffd漢+…$/);
    expect([param?.length, message.length]).toEqual([201, 4001]);
    expect(faults).toEqual([{ param, code: 'unknown_column', message }]);
  });

  test('is small enough for the metadata of a call', () => {
    const fault = { param: long, code: 'unknown_field', message: long };
    for (const error of [
      invalidFields(Array.from({ length: 100 }, () => fault)),
      new AppError('ABORTED', 'conflict', long, { faults: Array.from({ length: 200 }, () => fault) }),
    ]) {
      expect(error.faults.length).toBeGreaterThan(0);
      expect(Buffer.byteLength(JSON.stringify([error.message, error.param, error.faults]))).toBeLessThan(48 * 1024);
    }
  });

  test('has all faults if they are short', () => {
    const faults = Array.from({ length: 100 }, (_, i) => ({
      param: `rows[${i}].cells.${'c'.repeat(64)}`,
      code: 'cell_invalid',
      message: 'must be one of the choices of the column.',
    }));
    expect(invalidFields(faults).faults).toHaveLength(100);
  });
});

describe('asAppError', () => {
  test.each([
    ['EMFILE', 'service_unavailable'],
    ['ENFILE', 'service_unavailable'],
    ['ENOSPC', 'storage_full'],
    ['ENOENT', 'internal_error'],
  ])('makes %s a %s with its cause', (code, reason) => {
    const cause = Object.assign(new Error(`${code}: open '/data/files/x'`), { code });
    const error = asAppError(cause);
    expect(error).toMatchObject({ reason, cause });
    expect(error.message).not.toContain('/data');
  });

  test('returns an AppError as it is', () => {
    const error = new AppError('NOT_FOUND', 'not_found', 'None.');
    expect(asAppError(error)).toBe(error);
  });
});

test.each([
  ['UNAVAILABLE', true],
  ['DEADLINE_EXCEEDED', true],
  // The token of background work has expired; the next attempt gets a new one.
  ['UNAUTHENTICATED', true],
  ['PERMISSION_DENIED', false],
  ['INTERNAL', false],
] as const)('whether %s passes: %s', (code, passes) => {
  expect(isPassing(new AppError(code, 'some_code', 'Some text.'))).toBe(passes);
});
