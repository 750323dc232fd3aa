import {
  BLOCK_TYPES,
  COLUMN_TYPE_ALIASES,
  COLUMN_TYPES as COLUMN_TYPES_OF_SCHEMA,
  FORM_FIELD_TYPES,
  INLINE_TYPES,
  MARK_TYPES,
  SCHEMAS,
} from '@commonplace/proto/schemas.js';
import { describe, expect, test } from '@jest/globals';
import { BLOCKS, INLINE, MARKS } from '../src/documents/model/model.js';
import { OPERATORS } from '../src/forms/field.js';
import { FIELD_TYPES } from '../src/forms/field-types.js';
import { COLUMN_TYPES, TYPE_ALIASES } from '../src/tables/column.js';

const sorted = (names: Iterable<string>) => [...names].sort();

describe('the schemas of free-form JSON', () => {
  test('know each type of column, and each other name of one', () => {
    expect(sorted(COLUMN_TYPES_OF_SCHEMA)).toEqual(sorted(COLUMN_TYPES));
    expect(new Map(Object.entries(COLUMN_TYPE_ALIASES))).toEqual(TYPE_ALIASES);
  });

  test('know each type of a field of a form, and each operator', () => {
    expect(sorted(FORM_FIELD_TYPES)).toEqual(sorted(FIELD_TYPES));
    expect(SCHEMAS.FormCondition).toMatchObject({ properties: { op: { enum: OPERATORS } } });
  });

  test('know each type of block, inline node and mark', () => {
    expect(sorted(BLOCK_TYPES)).toEqual(sorted(Object.keys(BLOCKS)));
    expect(sorted(INLINE_TYPES)).toEqual(sorted(INLINE));
    expect(sorted(MARK_TYPES)).toEqual(sorted(MARKS));
  });
});
