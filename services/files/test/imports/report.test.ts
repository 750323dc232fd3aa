import { expect, test } from '@jest/globals';
import { reportOf } from '../../src/imports/jobs/report.js';
import type { ImportRecord } from '../../src/imports/stores/records.js';

test('the report says how much was imported, in words that fit every number', () => {
  const record = { name: 'Notes', dryRun: false, error: undefined } as ImportRecord;
  const counts = {
    ...{ documents: 1, tables: 1, rows: 2, files: 0, folders: 0 },
    ...{ linksRewritten: 1, linksBroken: 0, usersMapped: 1 },
  };
  const done = { total: 3, succeeded: 2, failed: 0, skipped: 1 };
  const found = { counts, done, failed: [], skipped: new Map(), broken: [], warned: [] };
  expect(reportOf(record, found, [])).toBe(
    [
      '# Notes',
      '',
      '## What was imported',
      '',
      '- Items: 2 of 3; 0 failed, 1 skipped',
      '- Documents: 1; tables: 1; rows: 2; files: 0; folders: 0',
      '- Links: 1 to what was imported, 0 without a target',
      '- People of the source that are members of the workspace: 1',
      '',
    ].join('\n'),
  );
});
