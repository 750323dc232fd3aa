import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readContract } from '../src/sdk/operations.js';
import { ROOT } from '../src/system.js';

const FILES = [
  'typescript/src/generated/types.ts',
  'typescript/src/generated/operations.ts',
  'python/src/commonplace/generated/types.py',
  'python/src/commonplace/generated/operations.py',
];

describe('the generated files of the SDKs', () => {
  test.each(FILES)('%s matches the contract; otherwise run `npm run generate:sdk`', async (file) => {
    const { hash } = await readContract();
    expect(readFileSync(join(ROOT, 'sdk', file), 'utf8').slice(0, 200)).toContain(`Contract: ${hash}\n`);
  });

  test('groups and methods have names that users expect', async () => {
    const { operations } = await readContract();
    const names = new Map(operations.map(({ id, group, method }) => [id, `${group}.${method}`]));
    expect(names.get('createResource')).toBe('resources.create');
    expect(names.get('listOrgMembers')).toBe('orgs.listMembers');
    expect(names.get('copyResource')).toBe('resources.copy');
    expect(names.get('listApiKeys')).toBe('api_keys.list');
    expect(new Set(names.values()).size).toBe(operations.length);
  });
});
