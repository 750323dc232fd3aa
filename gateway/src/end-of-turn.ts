let turn: Promise<void> | undefined;

/**
 * Resolves when the event loop has handled all I/O that arrived in this turn. Answers that wait for it are sent
 * together, so that a waiting client wakes once for all of them and not for each.
 */
export function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  });
  return turn;
}
