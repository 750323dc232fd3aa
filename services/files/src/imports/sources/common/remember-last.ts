/**
 * Returns a function that computes a value for a key, and returns it again until it is called with another key. Sections
 * of one page are read one after the other: without it, each would read and split the whole page again. What fails is
 * computed again.
 */
export function rememberLast<K, V>(compute: (key: K) => V): (key: K) => V {
  let last: { readonly key: K; readonly value: V } | undefined;
  return (key) => {
    if (last?.key !== key) {
      const computed = { key, value: compute(key) };
      last = computed;
      if (computed.value instanceof Promise) {
        computed.value.catch(() => {
          if (last === computed) last = undefined;
        });
      }
    }
    return last.value;
  };
}
