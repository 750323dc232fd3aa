/** Counts turns of the event loop. */
export interface Turns {
  /** Returns the number of the present turn. */
  now(): number;
  end(): void;
}

export function openTurns(): Turns {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  return {
    now: () => turns,
    end: () => {
      isOver = true;
    },
  };
}

/** Returns how many turns of the event loop other work gets until `run` has ended. */
export async function countTurns(run: () => Promise<unknown>): Promise<number> {
  const turns = openTurns();
  await run();
  turns.end();
  return turns.now();
}
