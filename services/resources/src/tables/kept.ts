import { LostRace, type UnitOfWork } from '@commonplace/kit/store';
import type { ContentKind } from '../content/kind.js';
import { contentHashOf } from './chunks.js';
import type { TableEngine } from './engine.js';
import { bare, chunkId, contentHash, keptId, type PackedEntry, removeChunk, type StoredHead } from './records.js';
import { BETWEEN } from './rows.js';
import { freshHead } from './state.js';
import type { Head } from './write.js';
import type { TableWriter } from './writer.js';

/** Creates what keeps states of tables for snapshots, and forgets them. */
export function createKeptTables(
  { parts, lists, states }: TableEngine,
  writer: TableWriter,
): Pick<ContentKind, 'keep' | 'keepInput' | 'forget'> {
  const { heads, chunks } = parts;

  return {
    async keep(node, snapshotId, { work }) {
      const before = await work.get(heads, node.id);
      const head = before ?? work.insert(heads, freshHead(node.id, node.tenant));
      work.insert(heads, { ...bare(head), id: keptId(node.id, snapshotId), kept: [], loose: [] });
      work.replace(heads, head, { ...bare(head), kept: [...head.kept, snapshotId] });
      return { sizeBytes: head.bytes, hash: await hashOf(head, work) };
    },
    async keepInput(node, snapshotId, input, context) {
      const { work } = context;
      const stored = (await work.get(heads, node.id)) ?? work.insert(heads, freshHead(node.id, node.tenant));
      const before = await lists.whole(node.id, stored, work);
      // Assigns slots for its columns and people after those of the current table, as if it were an earlier state of
      // the table.
      const nothing: Head = { ...bare(before), chunks: [], rowCount: 0, bytes: 0, open: 0, nextNumbers: {} };
      const { head, fresh } = await states.settled(() => writer.plan(node, nothing, input, context, { isWhole: true }));
      const shared = new Map([...before.chunks, ...(await lastKept(before, work))].map(([n, , , hash]) => [hash, n]));
      const entries = head.chunks.map(([n, rows, bytes, hash, content]): PackedEntry => {
        return [shared.get(hash) ?? n, rows, bytes, hash, content];
      });
      const used = new Set(entries.map(([n]) => n));
      for (const [n, { text }] of fresh) {
        if (used.has(n)) work.insert(chunks, { id: chunkId(node.id, n), tenant: node.tenant, text });
      }
      const state = { ...head, tenant: node.tenant, chunks: entries, kept: [], loose: [] };
      const kept = (await lists.pack(state, undefined, work)).stored;
      work.insert(heads, { ...kept, id: keptId(node.id, snapshotId) });
      const { nextChunk, nextSlot, people } = kept;
      work.replace(heads, stored, { ...bare(stored), nextChunk, nextSlot, people, kept: [...stored.kept, snapshotId] });
      const contents = entries.map(([, , , , content]) => content);
      return { sizeBytes: head.bytes, hash: contentHash(state, contents) };
    },
    async forget({ id }, snapshotId, { work }) {
      const kept = await work.get(heads, keptId(id, snapshotId));
      const head = await work.get(heads, id);
      if (kept === undefined || head === undefined) return;
      work.remove(heads, kept);
      const others = head.kept.filter((other) => other !== snapshotId);
      const used = new Set(await lists.numbers(id, head, work));
      const loose = new Set(
        [...head.loose, ...(await lists.numbers(id, kept, work))].filter((number) => !used.has(number)),
      );
      const held = loose.size === 0 ? new Set<number>() : await heldBy(id, others, work);
      for (const number of loose) if (!held.has(number)) removeChunk(parts, work, chunkId(id, number));
      const left = [...loose].filter((number) => held.has(number));
      if (head.gone === true && others.length === 0) work.remove(heads, head);
      else work.replace(heads, head, { ...bare(head), kept: others, loose: left });
    },
  };

  /** Returns the hash of a table's contents, which does not depend on the parts in which its last rows were stored. */
  async function hashOf(head: StoredHead, work: UnitOfWork): Promise<string> {
    const whole = await lists.whole(head.id, head, work);
    const contents = whole.chunks.map(([, , , , content]) => content);
    const { open = 1 } = whole;
    if (open < 2) return contentHash(whole, contents);
    const lines: string[] = [];
    for (const [number] of whole.chunks.slice(-open)) {
      const part = await work.get(chunks, chunkId(head.id, number));
      if (part === undefined) throw new LostRace(chunks.spec.name, chunkId(head.id, number));
      lines.push(...part.text.split(BETWEEN));
    }
    return contentHash(whole, [...contents.slice(0, -open), contentHashOf(lines)]);
  }

  /** Returns the chunks of the most recently kept state. */
  async function lastKept({ id, kept }: Head, work: UnitOfWork): Promise<readonly PackedEntry[]> {
    const last = kept.at(-1);
    const head = last === undefined ? undefined : await work.get(heads, keptId(id, last));
    return head === undefined ? [] : (await lists.whole(id, head, work)).chunks;
  }

  async function heldBy(tableId: string, snapshotIds: readonly string[], work: UnitOfWork): Promise<Set<number>> {
    const held = new Set<number>();
    for (const snapshotId of snapshotIds) {
      const kept = await work.get(heads, keptId(tableId, snapshotId));
      if (kept !== undefined) for (const number of await lists.numbers(tableId, kept, work)) held.add(number);
    }
    return held;
  }
}
