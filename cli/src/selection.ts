import { CommandError, EXIT } from './exit.js';

/** Selects what a command handles: everything, or what has some ids. */
export type Selection = 'all' | readonly string[];

/**
 * Reads the ids and `--all` of a command line. Both together are refused: whoever adds `--all` to ids by mistake must
 * not delete everything.
 */
export function selectionOf(ids: readonly string[], all: boolean, what: string): Selection {
  if (all === ids.length > 0) throw new CommandError(EXIT.usage, `specify either the ${what} or --all`);
  return all ? 'all' : ids;
}
