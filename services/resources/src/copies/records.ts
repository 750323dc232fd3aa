import { type Collection, type CollectionSpec, findEach, type StoredRecord } from '@commonplace/kit/store';
import type { PlannedCopy } from '../domain/copy.js';

/** One piece of the plan of a copy job, made when the job was created. */
export interface CopyPiece extends StoredRecord {
  readonly tenant: string;
  readonly jobId: string;
  /** Counts from 0; parents are in the same piece or in an earlier one. */
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

/** Number of pieces that one query reads, each with hundreds of entries. */
const PAGE = 10;

/** Yields all pieces of a job in order. */
export function copyPieces(pieces: Collection<CopyPiece>, jobId: string): AsyncIterable<CopyPiece> {
  return findEach(pieces, { where: { jobId }, sort: ['number'] }, PAGE);
}
