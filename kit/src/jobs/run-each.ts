/**
 * Does one piece of work after the other, also behind one that fails: no item of a round keeps those behind it from being done.
 * Rejects at the end, with what has failed.
 */
export async function runEach<T>(
  items: Iterable<T> | AsyncIterable<T>,
  run: (item: T) => Promise<unknown>,
): Promise<void> {
  const errors: unknown[] = [];
  for await (const item of items) {
    try {
      await run(item);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} pieces of work have failed: ${errors[0]}`);
}
