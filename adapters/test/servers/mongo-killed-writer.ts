import type { StoredRecord } from '@commonplace/kit/store';
import { ClientSession } from 'mongodb';
import { openMongoDatabase } from '../../src/mongo/index.js';

// A process that changes a record in a transaction, and sends a message when only the commit is left. Its arguments are
// the URL, the prefix of databases, and the record's id.
const [url = '', databasePrefix = '', id = ''] = process.argv.slice(2);

ClientSession.prototype.commitTransaction = () => {
  process.send?.('about to commit');
  return new Promise(() => {});
};
const database = await openMongoDatabase({ url, databasePrefix });
const store = database.store('orphans');
const records = await store.collection<StoredRecord & { by: string }>({ name: 'records', indexes: [] });
const before = await records.get(id);
if (before === undefined) throw new Error(`${id} is not there`);
const unit = store.begin();
unit.replace(records, before, { ...before, by: 'the killed one' });
unit.insert(records, { id: `${id}-2`, by: 'the killed one' });
await unit.commit();
