import type { Actor as Doer } from '@commonplace/kit/auth';
import {
  type Import,
  ImportAccess,
  type ImportConflict,
  type ImportItemRecord,
  type ImportItemStatus,
  type ImportPhase,
  type ImportSourceType,
  type ImportStatus,
} from '@commonplace/proto/files/v1/import.js';
import { actorMessage } from '../acts/tell.js';
import { type Done, type ImportRecord, type ItemRecord, isActive, type Phase } from './stores/records.js';

const named = <E extends string>(prefix: string, value: string): E => `${prefix}${value.toUpperCase()}` as E;

const status = (value: string) => named<ImportStatus>('IMPORT_STATUS_', value);
const phase = (value: string) => named<ImportPhase>('IMPORT_PHASE_', value);

/** An import as clients see it; `report` where there is one and it is asked for. */
export function importMessage(record: ImportRecord, report?: string): Import {
  const { options } = record;
  return {
    id: record.id,
    workspaceId: record.workspaceId,
    parentId: record.parentId,
    sourceType: named<ImportSourceType>('IMPORT_SOURCE_TYPE_', record.sourceType),
    name: record.name,
    status: status(record.status),
    phase: record.phase === undefined ? undefined : phase(record.phase),
    progress: progressOf(record),
    stats: record.counts,
    attempt: record.attempt,
    rootResourceId: record.rootResourceId,
    warnings: [...record.warnings],
    error: record.error,
    itemsUrl: `/api/v1/imports/${record.id}?include=items`,
    access: record.access === 'private' ? ImportAccess.PRIVATE : ImportAccess.INHERIT,
    conflict: named<ImportConflict>('IMPORT_CONFLICT_', record.conflict),
    options: {
      csv: options.csv && {
        delimiter: options.csv.delimiter,
        encoding: options.csv.encoding,
        hasHeader: options.csv.hasHeader,
        detectTypes: options.csv.detectTypes,
      },
      splitHeadings: options.splitHeadings === true,
      downloadRemoteImages: options.downloadRemoteImages === true,
      keepDates: options.keepDates === true,
      userMap: Buffer.from(JSON.stringify(options.userMap ?? {})),
    },
    dryRun: record.dryRun,
    report,
    createdBy: actorOf(record.createdBy),
    createdAt: record.createdAt,
    startedAt: record.startedAt,
    finishedAt: record.finishedAt,
    version: record.version,
    upload: undefined,
    items: [],
    page: undefined,
  };
}

function actorOf(doer: Doer): Import['createdBy'] {
  return actorMessage(doer);
}

/** How far of the whole an import is when a phase begins, and the next one. */
const SHARES: Record<Phase, readonly [number, number]> = {
  upload: [0, 2],
  scan: [2, 8],
  parse: [8, 10],
  create: [10, 97],
  link: [97, 99],
  index: [99, 100],
};

function progressOf(record: ImportRecord): Import['progress'] {
  const { done, phase: at } = record;
  const processed = done.succeeded + done.failed + done.skipped;
  return {
    phase: at === undefined ? undefined : phase(at),
    ...done,
    processed,
    percent: percentOf(record, done, processed),
  };
}

function percentOf(record: ImportRecord, { total }: Done, processed: number): number {
  if (!isActive(record)) return record.status.startsWith('completed') ? 100 : share(record.phase, total, processed);
  return record.status === 'running' ? share(record.phase, total, processed) : 0;
}

function share(at: Phase | undefined, total: number, processed: number): number {
  if (at === undefined) return 0;
  const [from, to] = SHARES[at];
  const part = at === 'create' && total > 0 ? processed / total : 0;
  return Math.min(99, Math.floor(from + (to - from) * part));
}

export function itemMessage(record: ItemRecord): ImportItemRecord {
  return {
    path: record.path,
    externalId: record.externalId,
    status: named<ImportItemStatus>('IMPORT_ITEM_STATUS_', record.status),
    resourceId: record.resourceId,
    code: record.code,
    message: record.message,
    retryable: record.retryable === true,
  };
}
