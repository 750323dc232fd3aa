/** A position in a queue; to be released with `end`. */
export interface Turn {
  readonly key: string;
  end(): void;
}

/**
 * Queues the calls of one process that have lost a race for the same record. Without it, all but one of many writers
 * would run in vain each time, and the last would fail.
 */
interface Turns {
  /**
   * Waits until it is the caller's turn, but at most `milliseconds`, because the calls in front may be waiting for this
   * one.
   */
  take(key: string, milliseconds: number): Promise<Turn>;
}

export function createTurns(): Turns {
  const rows = new Map<string, Promise<void>>();
  return {
    async take(key, milliseconds) {
      const before = rows.get(key);
      const { promise: mine, resolve: end } = withResolvers();
      const row = before === undefined ? mine : before.then(() => mine);
      rows.set(key, row);
      row.then(() => {
        if (rows.get(key) === row) rows.delete(key);
      });
      if (before !== undefined) await atMost(before, milliseconds);
      return { key, end };
    },
  };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

async function atMost(promise: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
