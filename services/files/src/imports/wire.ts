import type { Actor as Doer } from '@commonplace/kit/auth';
import { actorMessage } from '@commonplace/platform/actors';
import { enumValue } from '@commonplace/platform/enums';
import {
  type Import,
  ImportAccess,
  ImportConflict,
  type ImportItemRecord,
  ImportItemStatus,
  ImportPhase,
  ImportSourceType,
  ImportStatus,
} from '@commonplace/proto/files/v1/import.js';
import type { ImportEvent } from '@commonplace/proto/files/v1/import_service.js';
import {
  type ImportRecord,
  type ImportState,
  type ItemCounts,
  type ItemRecord,
  isActive,
  type Phase,
} from './stores/records.js';

/** Converts the state of an import to an event of its stream. */
export function importEvent(record: ImportRecord, report?: string): ImportEvent {
  const state = importMessage(record, report);
  return { id: String(record.version), ...EVENT_FIELDS[record.status](state) };
}

type States = Omit<ImportEvent, 'id'>;
const NO_STATE: States = { progress: undefined, completed: undefined, failed: undefined, canceled: undefined };
const progress = (state: Import): States => ({ ...NO_STATE, progress: state });
const completed = (state: Import): States => ({ ...NO_STATE, completed: state });

const EVENT_FIELDS: Record<ImportState, (state: Import) => States> = {
  pending_upload: progress,
  queued: progress,
  running: progress,
  completed,
  completed_with_errors: completed,
  failed: (state) => ({ ...NO_STATE, failed: state }),
  canceled: (state) => ({ ...NO_STATE, canceled: state }),
};

/** Creates an event without a change. */
export function nothingNew({ version }: Pick<ImportRecord, 'version'>): ImportEvent {
  return { id: String(version), ...NO_STATE };
}

/** Converts an import to its message for clients, with `report` if given. */
export function importMessage(record: ImportRecord, report?: string): Import {
  const { options } = record;
  return {
    id: record.id,
    workspaceId: record.workspaceId,
    parentId: record.parentId,
    sourceType: enumValue(ImportSourceType, record.sourceType),
    name: record.name,
    status: enumValue(ImportStatus, record.status),
    phase: record.phase === undefined ? undefined : enumValue(ImportPhase, record.phase),
    progress: progressOf(record),
    stats: record.counts,
    attempt: record.attempt,
    rootResourceId: record.rootResourceId,
    warnings: [...record.warnings],
    error: record.error,
    itemsUrl: `/api/v1/imports/${record.id}?include=items`,
    access: record.access === 'private' ? ImportAccess.PRIVATE : ImportAccess.INHERIT,
    conflict: enumValue(ImportConflict, record.conflict),
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

/** Percentage of the whole import at which each phase begins and ends. */
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
    phase: at === undefined ? undefined : enumValue(ImportPhase, at),
    ...done,
    processed,
    percent: percentOf(record, done, processed),
  };
}

function percentOf(record: ImportRecord, { total }: ItemCounts, processed: number): number {
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
    status: enumValue(ImportItemStatus, record.status),
    resourceId: record.resourceId,
    code: record.code,
    message: record.message,
    retryable: record.retryable === true,
  };
}
