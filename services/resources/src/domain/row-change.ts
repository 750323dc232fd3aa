/** Rows that one write has changed in the same columns. */
export interface RowChange {
  readonly verb: 'row.created' | 'row.updated' | 'row.deleted';
  readonly rowIds: readonly string[];
  /** Ids of the columns whose cells have changed; for new rows, the columns whose cells are not empty. */
  readonly columnIds: readonly string[];
}
