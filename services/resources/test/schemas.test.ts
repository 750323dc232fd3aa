import {
  BLOCK_TYPES,
  COLUMN_TYPES as COLUMN_TYPES_OF_SCHEMA,
  INLINE_TYPES,
  MARK_TYPES,
} from '@commonplace/proto/schemas.js';
import { describe, expect, test } from '@jest/globals';
import { BLOCKS, INLINE, MARKS } from '../src/documents/model/model.js';
import { COLUMN_TYPES } from '../src/tables/column.js';

const sorted = (names: Iterable<string>) => [...names].sort();

describe('the schemas of free-form JSON', () => {
  test('know each type of column', () => {
    expect(sorted(COLUMN_TYPES_OF_SCHEMA)).toEqual(sorted(COLUMN_TYPES));
  });

  test('know each type of block, inline node and mark', () => {
    expect(sorted(BLOCK_TYPES)).toEqual(sorted(Object.keys(BLOCKS)));
    expect(sorted(INLINE_TYPES)).toEqual(sorted(INLINE));
    expect(sorted(MARK_TYPES)).toEqual(sorted(MARKS));
  });
});
