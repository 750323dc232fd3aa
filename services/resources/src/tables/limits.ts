/** Maximum columns of a table. */
export const MAX_COLUMNS = 500;
/** Maximum rows in one request. */
export const MAX_ROWS_PER_WRITE = 10_000;
/** Maximum cells in one request. */
export const MAX_CELLS_PER_WRITE = 200_000;
/** Maximum characters of a cell's text. */
export const MAX_CELL_TEXT = 100_000;
/** Maximum bytes of a cell that holds JSON. */
export const MAX_CELL_JSON = 64 * 1024;
/** Maximum characters of all cells of a row, so that a row can be stored and returned as one piece. */
export const MAX_ROW_TEXT = 2_000_000;
/** Maximum choices of a select column. */
export const MAX_CHOICES = 1000;
/** Maximum elements of a cell that holds a list. */
export const MAX_CELL_ITEMS = 1000;
/** Maximum characters of a formula. */
export const MAX_EXPRESSION = 2000;
/** Maximum characters of text that formulas read for one returned cell, including all cells that it depends on. */
export const MAX_FORMULA_TEXT = 1_000_000;
/** Characters of a table that search reads. */
export const MAX_SEARCH_TEXT = 200_000;
