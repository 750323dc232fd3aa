import { expect, test } from '@jest/globals';
import { inherited } from '../src/system.js';

test('systems of tests inherit how long to wait, and no settings', () => {
  const before = process.env;
  process.env = {
    PATH: '/bin',
    NODE_OPTIONS: '--inspect',
    COMMONPLACE_PORT: '1',
    COMMONPLACE_TEST_DATA: '/data',
    COMMONPLACE_TEST_PATIENCE: '4',
  };
  try {
    expect(inherited()).toEqual({ PATH: '/bin', COMMONPLACE_TEST_PATIENCE: '4' });
  } finally {
    process.env = before;
  }
});
