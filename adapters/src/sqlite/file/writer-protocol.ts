import type { Param } from './binding.js';

/**
 * Messages between the main thread and the writer. They are tuples, because structured cloning would copy the keys of
 * objects each time.
 */

/** A long text as its pieces, which the writer joins. */
export type Pieces = readonly string[];

/**
 * A statement: its text, its parameters and the result it must have. `row`: it is a query that must find a row;
 * `change`: it must change a row; `any`: any result is accepted.
 */
export type Step = readonly [sql: string, params: readonly (Param | Pieces)[], must: 'row' | 'change' | 'any'];

/** Creates a statement without parameters. */
export const plainStep = (sql: string): Step => [sql, [], 'any'];

/** Statements that take effect together or not at all. */
export type Unit = readonly [number: number, steps: readonly Step[]];

/** The next statements of a large unit, whose last ones come as a `Unit`. None: the unit is given up. */
export type UnitPart = readonly [number: number, steps: readonly Step[] | undefined];

/** Number of rows that each step of a unit changed or found. */
export type Done = readonly [number: number, changes: readonly number[]];

export type FailureKind =
  /** A step that had to change or find a row did not. */
  | 'unchanged'
  /** A step violated a constraint; `message` names it. */
  | 'constraint'
  /** The file cannot be written now. */
  | 'unavailable'
  /** SQLite refused a statement. */
  | 'refused';

export type Failure = readonly [number: number, step: number, kind: FailureKind, code: string, message: string];

export interface Request {
  readonly units: readonly Unit[];
  readonly part?: UnitPart;
  /** Asks the writer to end once the units are committed. */
  readonly close?: boolean;
}

export type Reply =
  | { readonly ready: true }
  | { readonly ready: false; readonly message: string }
  | { readonly done: readonly Done[]; readonly failed: readonly Failure[] };
