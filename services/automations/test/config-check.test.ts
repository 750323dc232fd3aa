import { expect, test } from '@jest/globals';
import { checkConfig } from '../src/definitions/config-check.js';

test.each([
  ['letters', 'x'],
  ['emoji', '😀'],
])('texts of actions are as long as the API counts them: %s', (_, character) => {
  const faultsOf = (length: number) => checkConfig('create_work_item', { title: character.repeat(length) });
  expect(faultsOf(255)).toEqual([]);
  expect(faultsOf(256)).toMatchObject([{ param: 'config.title', message: expect.stringContaining('255 characters') }]);
});
