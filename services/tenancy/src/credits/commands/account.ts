import { derivedId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import { Book, emptyAccount } from '../domain/book.js';
import { monthOf } from '../domain/periods.js';
import type { CreditParts } from '../parts.js';
import type { AccountRecord, CreditRecords, Payer, SourceType } from '../records.js';

/** Cause of the ledger entries of a change. */
interface EntrySource {
  readonly sourceType?: SourceType;
  readonly sourceId?: string;
  readonly userId?: string;
}

interface OpenAccount {
  readonly book: Book;
  /** Writes the account and the entries of all changes. */
  save(source: EntrySource): void;
}

type AccountParts = Pick<CreditRecords, 'accounts' | 'ledger'> & Pick<CreditParts, 'metersAll' | 'now'>;

/** Opens the account of a tenant in a unit of work, which fails if another one changes the account meanwhile. */
export async function openAccount(
  { accounts, ledger, metersAll, now }: AccountParts,
  work: UnitOfWork,
  payer: Payer,
  at = now(),
): Promise<OpenAccount> {
  const before = await work.get(accounts, payer.tenant);
  const book = new Book(before ?? emptyAccount(monthOf(at)), at, metersAll);
  const unattributed = book.entries.length;
  return {
    book,
    save(source) {
      const after: Omit<AccountRecord, 'version'> = { ...book.state, ...payer, id: payer.tenant };
      if (before === undefined) work.insert(accounts, after);
      else work.replace(accounts, before, after);
      for (const [index, entry] of book.entries.entries()) {
        const { tenant } = payer;
        const about = index < unattributed ? {} : source;
        work.insert(ledger, { ...entry, ...about, id: derivedId(`ledger:${tenant}:${entry.seq}`), tenant, at });
      }
    },
  };
}
