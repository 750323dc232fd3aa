import type { StoredRecord } from '@commonplace/kit/store';
import { describe, expect, test } from '@jest/globals';
import type { AnyBulkWriteOperation } from 'mongodb';
import type { Batch, Change } from '../src/mongo/changes.js';
import type { StoredDocument } from '../src/mongo/codec.js';
import type { RawCollection } from '../src/mongo/collection.js';
import { type CommitQueue, createCommitQueue } from '../src/mongo/commit-queue.js';
import type { Sessions } from '../src/mongo/sessions.js';

type Operations = readonly AnyBulkWriteOperation<StoredDocument>[];

/** Creates a commit queue on a fake database, which records what it is sent and finds all records as expected. */
function openQueue(): { queue: CommitQueue; raw: RawCollection; sent: string[][] } {
  const sent: string[][] = [];
  const bulkWrite = async (operations: Operations) => {
    const kinds = operations.map((operation) => Object.keys(operation)[0] ?? '');
    sent.push(kinds);
    const count = (...names: string[]): number => kinds.filter((kind) => names.includes(kind)).length;
    return { matchedCount: count('updateOne', 'replaceOne'), upsertedCount: 0, deletedCount: count('deleteOne') };
  };
  const session = { startTransaction() {}, async commitTransaction() {}, async abortTransaction() {} };
  const sessions = { take: async () => session, give() {}, drop() {}, async close() {} } as unknown as Sessions;
  const outbox = { async ready() {}, async write() {}, committed() {} };
  return { queue: createCommitQueue(sessions, outbox), raw: { bulkWrite } as unknown as RawCollection, sent };
}

const recordOf = (id: string): StoredRecord => ({ id, version: 1 });
const insert = (id: string): Change => ({ kind: 'insert', record: recordOf(id) });
const expectation = (id: string): Change => ({ kind: 'expect', before: recordOf(id) });
const removal = (id: string): Change => ({ kind: 'remove', before: recordOf(id) });
const replacement = (id: string): Change => ({ kind: 'replace', before: recordOf(id), record: recordOf(id) });

describe('units that are committed in one turn', () => {
  test('share a transaction if they expect the same record, with a command for each type of change', async () => {
    const { queue, raw, sent } = openQueue();
    const commit = (changes: Change[]) => queue.commit({ batches: [{ name: 'nodes', raw, changes }], events: [] });
    await Promise.all(Array.from({ length: 3 }, (_, i) => commit([insert(`child ${i}`), expectation('parent')])));
    expect(sent).toEqual([['updateOne', 'updateOne', 'updateOne', 'insertOne', 'insertOne', 'insertOne']]);
  });

  test('do not share one if a unit writes the record that another expects', async () => {
    const { queue, raw, sent } = openQueue();
    const commit = (changes: Change[]) => queue.commit({ batches: [{ name: 'nodes', raw, changes }], events: [] });
    await Promise.all([commit([insert('child'), expectation('parent')]), commit([replacement('parent')])]);
    expect(sent).toEqual([['updateOne', 'insertOne'], ['replaceOne']]);
  });
});

describe('changes of a unit', () => {
  async function sentBy(changes: Change[]): Promise<string[][]> {
    const { queue, raw, sent } = openQueue();
    const batch: Batch = { name: 'nodes', raw, changes };
    await queue.commit({ batches: [batch], events: [] });
    return sent;
  }

  test('release unique values before they take others', async () => {
    const changes = [insert('a'), replacement('b'), removal('c'), insert('d'), removal('e')];
    expect(await sentBy(changes)).toEqual([['deleteOne', 'deleteOne', 'replaceOne', 'insertOne', 'insertOne']]);
  });

  test.each([
    [
      'is removed and inserted again',
      [insert('b'), removal('a'), insert('a')],
      ['insertOne', 'deleteOne', 'insertOne'],
    ],
    ['is inserted and expected', [insert('a'), expectation('a')], ['insertOne', 'updateOne']],
  ])('keep their order if a record %s', async (_, changes, kinds) => {
    expect(await sentBy(changes)).toEqual([kinds]);
  });
});
