const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls `clear` when the process exits or is ended by a signal, such as by Ctrl-C, before the returned function was
 * called. `clear` has to be synchronous.
 */
export function clearOnExit(clear: () => void): () => void {
  const clearAndEnd = (signal: NodeJS.Signals) => {
    forget();
    clear();
    // Ends as if nothing had listened, unless another one still has to clear.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  function forget(): void {
    process.off('exit', clear);
    for (const signal of SIGNALS) process.off(signal, clearAndEnd);
  }
  process.once('exit', clear);
  for (const signal of SIGNALS) process.on(signal, clearAndEnd);
  return forget;
}
