import type { Collection, StoredRecord, UnitOfWork } from '../store/index.js';

/** A number in a record that amounts are added to, and its limit. */
interface Amount<T extends StoredRecord> {
  readonly records: Collection<T>;
  readonly id: string;
  readonly field: keyof T & string;
  /** No limit when absent. */
  readonly limit: number | undefined;
  /** Creates the error for an amount that does not fit; `used` is the present value. */
  readonly refuse: (used: number) => Error;
}

/**
 * Reserves an amount in this unit of work. The limit is exact: of units that commit at once, no more take effect than
 * fit. Release it with `increment` and a negative number, in the commit that gives it back.
 */
export async function reserveAmount<T extends StoredRecord>(
  work: UnitOfWork,
  { records, id, field, limit, refuse }: Amount<T>,
  amount: number,
): Promise<void> {
  if (limit === undefined || amount <= 0) {
    if (amount !== 0) work.increment(records, id, field, amount, {} as never);
    return;
  }
  const record = await work.get(records, id);
  const used = Number(record?.[field] ?? 0);
  if (used + amount > limit) throw refuse(used);
  if (record === undefined) work.insert(records, { id, [field]: amount } as unknown as Omit<T, 'version'>);
  else work.incrementWithin(records, id, field, amount, { atMost: limit });
}
