import { expect, jest, test } from '@jest/globals';
import { runProgram } from '../src/program.js';

const COMMANDS = [
  ...[
    'doctor',
    'backup',
    'restore',
    'migrate',
    'rotate-secrets',
    'keys',
    'keys list',
    'keys create',
    'keys revoke',
    'jobs',
    'jobs list',
    'jobs retry',
    'jobs delete',
    'events',
    'events list',
    'events retry',
    'events delete',
    'index',
    'index rebuild',
    'index status',
    'sweeper',
    'sweeper list',
    'sweeper restore',
    'sweeper allow',
  ],
  ...[
    'account',
    'account reset-password',
    'account reset-second-factor',
    'credits',
    'credits grant',
    'credits list',
    'publications',
    'publications suspend',
    'publications resume',
  ],
];

test.each(['', ...COMMANDS])('the help of `commonplace %s` has examples, and mentions --json', async (command) => {
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    expect(await runProgram([...command.split(' ').filter(Boolean), '--help'])).toBe(0);
    const help = write.mock.calls.join('');
    expect(help).toMatch(new RegExp(`Examples:[^]* commonplace ${command}`));
    expect(help).toContain('--json');
  } finally {
    write.mockRestore();
  }
});
