import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** The e-mail outbox as it is stored. */
export const mailCollection: CollectionSpec<
  StoredRecord & { readonly to: string; readonly content: string; readonly dueAt: string }
> = { name: 'mail_outbox', indexes: [{ fields: ['dueAt'] }] };
