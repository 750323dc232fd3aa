/**
 * Returns a function that runs work for a key. Calls for the same key share it while it is under way. If it fails, for
 * example by the deadline of the call that began it, each of the others runs its own.
 */
export function createSharedWork<T>(): (key: string, work: () => Promise<T>) => Promise<T> {
  const running = new Map<string, Promise<T>>();
  return async function share(key, work): Promise<T> {
    const other = running.get(key);
    if (other !== undefined) return other.catch(() => share(key, work));
    const own = work().finally(() => running.delete(key));
    running.set(key, own);
    return own;
  };
}
