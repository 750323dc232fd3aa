/**
 * Runs `work` on each item sequentially, and continues after a failure, so that one item does not block the others.
 * Rejects at the end with the errors of all items that failed.
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
