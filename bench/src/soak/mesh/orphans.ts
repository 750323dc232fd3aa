/** What ends what this process has started. */
const ends = new Set<() => void>();

process.once('exit', () => {
  for (const end of ends) end();
});

/** Has something ended when this process ends, however it does. Gives what takes that back. */
export function endWithMe(end: () => void): () => void {
  ends.add(end);
  return () => void ends.delete(end);
}
