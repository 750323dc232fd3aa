/** Columns of a table. */
export const MAX_COLUMNS = 500;
/** Rows that one request may bring. */
export const MAX_ROWS_PER_WRITE = 10_000;
/** Cells that one request may bring. */
export const MAX_CELLS_PER_WRITE = 200_000;
/** Characters of a cell's text. */
export const MAX_CELL_TEXT = 100_000;
/** Bytes of a cell that holds JSON. */
export const MAX_CELL_JSON = 64 * 1024;
/** Characters of all cells of a row, so that a row can be stored and answered as one piece. */
export const MAX_ROW_TEXT = 2_000_000;
/** Choices of a select column. */
export const MAX_CHOICES = 1000;
/** Elements of a cell that holds a list. */
export const MAX_CELL_ITEMS = 1000;
/** Characters of a formula. */
export const MAX_EXPRESSION = 2000;
/** Characters that search reads of a table. */
export const MAX_SEARCH_TEXT = 200_000;
