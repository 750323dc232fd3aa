let turn: Promise<void> | undefined;

/**
 * Resolves when what has arrived in this turn of the event loop is worked off. Answers that wait for it are
 * sent together, so that a client who waits is woken once for all of them and not for each.
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
