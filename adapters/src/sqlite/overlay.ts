import type { Collection, StoredRecord } from '@commonplace/kit/store';

/** Holds what a unit has written so far, and applies it to what is read from the store. */
export interface Overlay {
  read<T extends StoredRecord>(from: Collection<T>, id: string): Promise<T | undefined>;
  put(collection: string, record: StoredRecord): void;
  drop(collection: string, id: string): void;
  /** Adds `by` to a field. `fresh` is the record that is created if there is none. */
  add(collection: string, fresh: StoredRecord, field: string, by: number): void;
}

interface Addition {
  readonly fresh: StoredRecord;
  readonly field: string;
  readonly by: number;
}

/** A record as the unit left it (`null` if it was removed), or the additions to the stored record. */
type Entry = { readonly record: StoredRecord | null } | { readonly additions: Addition[] };

export function createOverlay(): Overlay {
  const entries = new Map<string, Entry>();
  const key = (collection: string, id: string): string => `${collection}/${id}`;
  return {
    async read(from, id) {
      const entry = entries.get(key(from.spec.name, id));
      if (entry === undefined) return from.get(id);
      if ('record' in entry)
        return (entry.record === null ? undefined : JSON.parse(JSON.stringify(entry.record))) as never;
      const stored: StoredRecord | undefined = await from.get(id);
      return entry.additions.reduce(apply, stored) as never;
    },
    put: (collection, record) => void entries.set(key(collection, record.id), { record }),
    drop: (collection, id) => void entries.set(key(collection, id), { record: null }),
    add(collection, fresh, field, by) {
      const at = key(collection, fresh.id);
      const entry = entries.get(at);
      const addition = { fresh, field, by };
      if (entry === undefined) entries.set(at, { additions: [addition] });
      else if ('additions' in entry) entry.additions.push(addition);
      else entries.set(at, { record: apply(entry.record ?? undefined, addition) });
    },
  };
}

function apply(record: StoredRecord | undefined, { fresh, field, by }: Addition): StoredRecord {
  if (record === undefined) return fresh;
  const number = (record as unknown as Record<string, number | null | undefined>)[field] ?? 0;
  return { ...record, [field]: number + by };
}
