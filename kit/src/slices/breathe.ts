/**
 * Milliseconds that a long computation occupies the event loop at a time. A request passes through the loop about six
 * times: next to four long computations, a small read took 62 ms with slices of 8 ms, and a quarter of that with slices
 * of 2 ms. Slices of 1 ms take another quarter off, and cost the computation a few percent.
 */
const SLICE_MS = 1;

const waiting: (() => void)[] = [];

/** Resolves in a later turn of the event loop, in which no other computation continues. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(continueOne);
  });
}

/** Continues one computation. Between two of them, everything else that is due runs. */
function continueOne(): void {
  const [resolve] = waiting;
  resolve?.();
  waiting.shift();
  if (waiting.length > 0) setImmediate(continueOne);
}

/** Yields to other work when a slice of time has passed; throws if the work was cancelled. */
export type Breathe = () => Promise<void>;

/**
 * Creates the yield function of one computation. It is meant to be called often, for example between two chunks, and
 * costs almost nothing until the slice is over.
 */
export function createBreathe(signal?: AbortSignal): Breathe {
  let since = performance.now();
  const pause = async () => {
    await nextTurn();
    signal?.throwIfAborted();
    since = performance.now();
  };
  return () => (performance.now() - since < SLICE_MS ? CONTINUE : pause());
}

/** Every computation that need not pause waits for this promise, so that the frequent calls leave no garbage. */
const CONTINUE = Promise.resolve();
