/** Functions that end what this process has started. */
const ends = new Set<() => void>();

process.once('exit', () => {
  for (const end of ends) end();
});

/**
 * Registers a function that is called when this process ends, however it ends. Returns a function that unregisters it.
 */
export function endWithMe(end: () => void): () => void {
  ends.add(end);
  return () => void ends.delete(end);
}
