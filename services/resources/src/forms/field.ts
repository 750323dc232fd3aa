import type { OPERATORS } from '@commonplace/proto/schemas.js';
import type { FieldType } from './field-types.js';

/** A condition for showing a field, on the answer to another field. */
export interface Condition {
  readonly field_id: string;
  readonly op: (typeof OPERATORS)[number];
  /** Absent for `empty` and `not_empty`. */
  readonly value?: unknown;
}

/** A choice of a field. Clients send `value`, and a text column stores it. */
export interface FieldOption {
  readonly id: string;
  readonly label: string;
  readonly value: string;
}

/** A field in the API's spelling; properties that were not set are absent. */
export interface FormField {
  readonly id: string;
  /** Absent before the column is created, and for a statement. */
  readonly column_id?: string;
  readonly type: FieldType;
  readonly label: string;
  readonly help_text?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly default?: unknown;
  /** Absent if the field uses the choices of its column. */
  readonly options?: readonly FieldOption[];
  readonly min?: number;
  readonly max?: number;
  readonly min_length?: number;
  readonly max_length?: number;
  readonly pattern?: string;
  readonly max_files?: number;
  readonly accept?: readonly string[];
  readonly visible_if?: Condition;
}
