import { type AppError, type Fault, invalidFields, MAX_FAULTS } from '@commonplace/kit/errors';

/** Collects the faults of a request for a table, so that one error reports them all. */
export interface Faults {
  add(param: string, code: string, message: string): undefined;
  /** Adds a fault of one cell; `row` is the row's index in the request. */
  cell(row: number, columnId: string, message: string): undefined;
  /** Returns whether the maximum number of faults is reached, so that further ones would be dropped. */
  isFull(): boolean;
  /** Throws one error with all faults, if there are any. */
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
