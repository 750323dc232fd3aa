import type { Param } from './binding.js';

/**
 * What goes between the main thread and the writer, as tuples: structured cloning would spell out
 * the keys of objects each time.
 */

/**
 * A statement: its text, its parameters, and what has to come of it. `row`: it is a query that finds
 * one; `change`: it changes one; `any`: whatever it changes will do.
 */
export type Step = readonly [sql: string, params: readonly Param[], must: 'row' | 'change' | 'any'];

/** A statement without parameters. */
export const plainStep = (sql: string): Step => [sql, [], 'any'];

/** Statements that take effect together or not at all. */
export type Unit = readonly [number: number, steps: readonly Step[]];

/** Rows that each step of a unit changed, or found. */
export type Done = readonly [number: number, changes: readonly number[]];

export type FailureKind =
  /** A step changed or found nothing, and had to. */
  | 'unchanged'
  /** A step ran into a constraint; `message` names it. */
  | 'constraint'
  /** The file can't be written now. */
  | 'unavailable'
  /** A statement that SQLite refuses. */
  | 'refused';

export type Failure = readonly [number: number, step: number, kind: FailureKind, code: string, message: string];

export interface Request {
  readonly units: readonly Unit[];
  /** Asks the writer to end, once the units are committed. */
  readonly close?: boolean;
}

export type Reply =
  | { readonly ready: true }
  | { readonly ready: false; readonly message: string }
  | { readonly done: readonly Done[]; readonly failed: readonly Failure[] };
