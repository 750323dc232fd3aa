/** Returns a promise's result, or rejects with the signal's reason if it aborts first. */
export async function whileWanted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  let stop: (() => void) | undefined;
  const ended = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, ended]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}
