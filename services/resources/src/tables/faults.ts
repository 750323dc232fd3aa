import { type AppError, type Fault, invalidFields, MAX_FAULTS } from '@commonplace/kit/errors';

/** Gathers what is wrong with a table's input, so that all of it is told at once. */
export interface Faults {
  add(param: string, code: string, message: string): undefined;
  /** A fault of one cell: `row` is its place in the request. */
  cell(row: number, columnId: string, message: string): undefined;
  /** Whether no more of them would be told. */
  isFull(): boolean;
  /** Throws all of them, where there are any. */
  check(): void;
}

export function createFaults(): Faults {
  const list: Fault[] = [];
  const put = (fault: Fault): undefined => {
    if (list.length < MAX_FAULTS) list.push(fault);
  };
  return {
    add: (param, code, message) => put({ param, code, message }),
    cell: (row, columnId, message) =>
      put({ param: `rows[${row}].cells.${columnId}`, code: 'cell_invalid', message, row, column_id: columnId }),
    isFull: () => list.length >= MAX_FAULTS,
    check() {
      if (list.length > 0) throw invalidFields(list) as AppError;
    },
  };
}
