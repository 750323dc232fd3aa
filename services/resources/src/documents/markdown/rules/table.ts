import type { BlockRule } from './block.js';

/**
 * Missing cells that the parser may add to rows: a minimum for any document, plus this many for each of its characters.
 */
const MIN_ADDED = 1000;
const ADDED_PER_CHARACTER = 8;

const countOf = (text: string, sign: string): number => {
  let count = 0;
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) count += 1;
  return count;
};

/**
 * Wraps the table rule so that a table counts as text if the rows of the document would need far more added cells than
 * it has characters: a short text with one wide row would take long to parse.
 */
export function boundedTable(readTable: BlockRule): BlockRule {
  return (state, startLine, endLine, silent) => {
    const env = state.env as { addedCells?: number };
    const lineAt = (line: number) => state.src.slice(state.bMarks[line], state.eMarks[line]);
    if (startLine + 2 >= endLine || !lineAt(startLine + 1).includes('-'))
      return readTable(state, startLine, endLine, silent);
    const columns = countOf(lineAt(startLine + 1), '|') + 1;
    const limit = MIN_ADDED + ADDED_PER_CHARACTER * state.src.length - (env.addedCells ?? 0);
    let added = 0;
    // A table with few columns cannot add many cells, so the rows of most tables are not counted.
    if (columns > ADDED_PER_CHARACTER) {
      for (let line = startLine + 2; line < endLine && !state.isEmpty(line) && added <= limit; line += 1) {
        added += Math.max(0, columns - countOf(lineAt(line), '|') - 1);
      }
    }
    if (added > limit) return false;
    const isTable = readTable(state, startLine, endLine, silent);
    if (isTable && !silent) env.addedCells = (env.addedCells ?? 0) + added;
    return isTable;
  };
}
