import { invalidField, TenantBoundary } from '@commonplace/kit/errors';
import { expect, test } from '@jest/globals';
import { actionErrorOf } from '../src/runs/failure.js';

test('the message of an action names the field that another service refuses once', () => {
  expect(
    actionErrorOf(invalidField('rows[0].cells.Nope', 'unknown_column', 'The table has no column Nope.')),
  ).toMatchObject({ code: 'unknown_column', message: 'rows[0].cells.Nope: The table has no column Nope.' });
});

test('an action on another workspace fails with a message about automations, not keys', () => {
  const { code, message, publicMessage } = actionErrorOf(TenantBoundary());
  expect([code, message]).toEqual(['tenant_boundary', expect.stringContaining('acts only in its own')]);
  expect(publicMessage).toBe(message);
});
