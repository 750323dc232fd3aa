let turn: Promise<void> | undefined;

/**
 * Resolves when all I/O that arrived in this turn of the event loop has been handled. Answers that wait for it are sent
 * together, so that a waiting client is woken once for all of them and not for each.
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
