import type { Collection, CollectionSpec, Scalar, StoredRecord } from '@commonplace/kit/store';
import type { PlannedCopy } from '../domain/copy.js';

/** A piece of what a copying job has to copy, as it was planned when the job began. */
export interface CopyPiece extends StoredRecord {
  readonly tenant: string;
  readonly jobId: string;
  /** From 0 on; parents are in the same piece or in an earlier one. */
  readonly number: number;
  readonly copies: readonly PlannedCopy[];
}

export const copyPieceCollection: CollectionSpec<CopyPiece> = {
  name: 'copy_pieces',
  indexes: [{ fields: ['jobId', 'number'] }],
};

export function copyPieceId(jobId: string, number: number): string {
  return `${jobId}:${number}`;
}

/** Pieces that are read at once. */
const PAGE = 100;

/** All pieces of a job in their order. */
export async function copyPieces(pieces: Collection<CopyPiece>, jobId: string): Promise<CopyPiece[]> {
  const all: CopyPiece[] = [];
  for (let after: Scalar[] | undefined; ; ) {
    const page = await pieces.find({ where: { jobId }, sort: ['number'], limit: PAGE, ...(after && { after }) });
    all.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return all;
    after = [last.number, last.id];
  }
}
