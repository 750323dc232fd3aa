/** Keeps the first of many items in an order: a heap with the last of them at its root. */
export interface Top<T> {
  add(item: T): void;
  /** Returns the last of the kept items once there are `limit` of them: later ones are dropped. */
  last(): T | undefined;
  sorted(): T[];
}

/** Creates a collector of the first `limit` items. `before` must be a total order. */
export function createTop<T>(limit: number, before: (a: T, b: T) => boolean): Top<T> {
  const heap: T[] = [];

  function up(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(heap[parent] as T, heap[at] as T)) return;
      swap(parent, at);
      at = parent;
    }
  }

  function down(): void {
    let at = 0;
    for (;;) {
      let last = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && before(heap[last] as T, heap[child] as T)) last = child;
      }
      if (last === at) return;
      swap(last, at);
      at = last;
    }
  }

  function swap(a: number, b: number): void {
    const kept = heap[a] as T;
    heap[a] = heap[b] as T;
    heap[b] = kept;
  }

  return {
    add(item) {
      if (heap.length < limit) {
        heap.push(item);
        up(heap.length - 1);
      } else if (limit > 0 && before(item, heap[0] as T)) {
        heap[0] = item;
        down();
      }
    },
    last: () => (heap.length < limit ? undefined : heap[0]),
    sorted: () => [...heap].sort((a, b) => (before(a, b) ? -1 : 1)),
  };
}
