import { Parser } from 'expr-eval-fork';
import type { Cell } from './column.js';
import { countFormula, formulaFunctions, joined, plus, workOut } from './formula-functions.js';
import { MAX_CELL_TEXT } from './limits.js';

/** The value of a cell that cannot be computed. */
interface CellError {
  readonly error: string;
  readonly [key: string]: Cell;
}

export const cellError = (error: string): CellError => ({ error });

export function isCellError(cell: Cell): cell is CellError {
  return (
    typeof cell === 'object' && cell !== null && !Array.isArray(cell) && typeof (cell as CellError).error === 'string'
  );
}

/** A parsed formula. */
export interface Formula {
  /** Columns that the formula refers to, by id or name as written. */
  readonly references: readonly string[];
  /** Computes the value from the referenced cells. Never throws: errors become a CellError. */
  evaluate(cellOf: (reference: string) => Cell): Cell;
}

const parser = createParser();

/**
 * Parses a formula of operators, functions and columns, written as `{Name}`, `{id}`, or the id alone. Loops,
 * assignments, function definitions and member access are disabled, so its work is bounded by its length. Throws if it
 * cannot be parsed.
 */
export function parseFormula(text: string): Formula {
  const { source, names } = withVariables(text);
  const expression = parser.parse(source);
  const variables = expression.variables();
  const references = variables.map((variable) => names.get(variable) ?? variable);
  return {
    references,
    evaluate: (cellOf) =>
      workOut(() => {
        const values: Record<string, Cell> = Object.create(null);
        for (const [i, variable] of variables.entries()) {
          const value = cellOf(references[i] as string);
          if (isCellError(value)) return value;
          values[variable] = value;
        }
        try {
          countFormula();
          return result(expression.evaluate(values as never));
        } catch (error) {
          return cellError((error as Error).message.slice(0, 200));
        }
      }),
  };
}

/** Matches texts in quotation marks, references in braces, and words that no parenthesis follows. */
const WORDS = /"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\{([^{}]+)\}|\b([A-Za-z_]\w*)\b(?!\s*\()/g;

/** Returns a formula with other references to columns, where `to` returns one; the formula itself if it cannot be parsed. */
export function redirectFormula(text: string, to: (reference: string) => string | undefined): string {
  if (checkExpression(text) !== undefined) return text;
  const references = new Set(parseFormula(text).references);
  return text.replace(WORDS, (whole, braced?: string, word?: string) => {
    const reference = braced?.trim() ?? word ?? '';
    const target = references.has(reference) ? to(reference) : undefined;
    return target === undefined ? whole : `{${target}}`;
  });
}

/** Returns why a formula cannot be parsed; undefined if it can. */
export function checkExpression(text: string): string | undefined {
  try {
    parseFormula(text);
    return undefined;
  } catch (error) {
    return `The formula cannot be parsed: ${(error as Error).message.slice(0, 200)}.`;
  }
}

function createParser(): Parser {
  const made = new Parser({
    allowMemberAccess: false,
    operators: { assignment: false, fndef: false, random: false, factorial: false, in: false, array: false } as never,
  }) as Parser & { binaryOps: object };
  made.functions = formulaFunctions();
  const { round: _round, length: _length, '!': _factorial, ...unary } = made.unaryOps;
  made.unaryOps = Object.assign(Object.create(null), unary);
  const binary = made.binaryOps as Record<string, unknown>;
  made.binaryOps = Object.assign(Object.create(null), binary, { '+': plus, '||': joined });
  made.consts = Object.assign(Object.create(null), { true: true, false: false, PI: Math.PI });
  return made;
}

/** Replaces each `{…}` outside quotation marks by a variable. Returns the column reference of each variable. */
function withVariables(text: string): { source: string; names: Map<string, string> } {
  const names = new Map<string, string>();
  const source = text.replace(/"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\{([^{}]+)\}/g, (whole, name?: string) => {
    if (name === undefined) return whole;
    const variable = `column${names.size}_`;
    names.set(variable, name.trim());
    return ` ${variable} `;
  });
  return { source, names };
}

function result(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : cellError('not a number');
  if (typeof value === 'string' && value.length <= MAX_CELL_TEXT) return value;
  return cellError(typeof value === 'string' ? 'the text is too long' : 'not a single value');
}
