import { newId } from '@commonplace/kit/id';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { traceparentNow } from '@commonplace/kit/telemetry';
import { actorMessage } from '@commonplace/platform/actors';
import { valuesByName } from '@commonplace/platform/enums';
import {
  type Archive,
  ArchiveFormat,
  type ArchiveInclude,
  ArchiveMode,
  ArchiveStatus,
} from '@commonplace/proto/files/v1/archive.js';
import type { ArchiveService, BeginExportRequest } from '@commonplace/proto/files/v1/archive_service.js';
import { DOWNLOAD_URL_SECONDS } from '../../config.js';
import { contentDisposition } from '../../media/index.js';
import { progressOf } from '../export.js';
import type { ArchiveParts } from '../parts.js';
import { type ArchiveRecord, type ArchiveState, archiveKey, type Format, type Include, isActive } from '../records.js';

const FORMATS: Partial<Record<ArchiveFormat, Format>> = {
  [ArchiveFormat.MARKDOWN]: 'markdown',
  [ArchiveFormat.HTML]: 'html',
};

/** Serves tenancy's calls about exports; tenancy has already checked scope, tenant and role. */
export function createArchiveHandlers(parts: ArchiveParts): Handlers<ArchiveService> {
  return {
    async beginExport(request, context) {
      const [active] = await parts.archives.find({ where: { activeKey: request.workspaceId }, limit: 1 });
      if (active !== undefined) return archiveMessage(parts, active);
      return archiveMessage(parts, insertArchive(parts, request, context));
    },

    async getLatestArchives({ workspaceIds }) {
      const found = await Promise.all(workspaceIds.map((id) => latestOf(parts, id)));
      const archives = found.flatMap((record) => record ?? []);
      return {
        archives: await Promise.all(
          archives.map(async (record) => ({
            workspaceId: record.workspaceId,
            archive: await archiveMessage(parts, record),
          })),
        ),
      };
    },
  };
}

async function latestOf({ archives }: ArchiveParts, workspaceId: string): Promise<ArchiveRecord | undefined> {
  const [latest] = await archives.find({ where: { workspaceId }, sort: ['-createdAt'], limit: 1 });
  return latest;
}

function insertArchive(
  parts: ArchiveParts,
  { workspaceId, tenant, format, include, workspaceJson }: BeginExportRequest,
  context: CallContext,
): ArchiveRecord {
  const { work, caller, actor } = context;
  const now = new Date().toISOString();
  const record = work.insert(parts.archives, {
    id: newId(),
    traceparent: traceparentNow(),
    tenant,
    workspaceId,
    activeKey: workspaceId,
    userId: caller.userId,
    orgId: tenant === workspaceId ? '' : tenant,
    format: FORMATS[format] ?? 'native',
    include: includeOf(include),
    workspace: JSON.parse(workspaceJson.toString()) as ArchiveRecord['workspace'],
    status: 'queued',
    attempt: 0,
    total: 0,
    resources: 0,
    files: 0,
    failed: 0,
    faults: [],
    cursor: '',
    steps: 0,
    parts: 0,
    offset: 0,
    entries: 0,
    createdBy: actor,
    createdAt: now,
    leaseUntil: now,
  });
  const data = { exportId: record.id, workspaceId, format: record.format };
  work.publish(context.event('export.created', record.id, data, tenant));
  return record;
}

function includeOf(include: ArchiveInclude | undefined): Include {
  const { files = true, comments = true, snapshots = true, permissions = true } = include ?? {};
  return { files, comments, snapshots, permissions };
}

const STATES: Record<ArchiveState, ArchiveStatus> = valuesByName(ArchiveStatus);
const FORMAT_NAMES: Record<Format, ArchiveFormat> = valuesByName(ArchiveFormat);

async function archiveMessage(parts: ArchiveParts, record: ArchiveRecord): Promise<Archive> {
  const { id, format, status, include, error, createdBy, createdAt, startedAt, finishedAt, attempt } = record;
  const isThere = record.sizeBytes !== undefined;
  const done = progressOf(record);
  const share = done.total === 0 ? 0 : done.processed / done.total;
  return {
    id,
    mode: ArchiveMode.EXPORT,
    format: FORMAT_NAMES[format],
    status: STATES[status],
    progress: { ...done, phase: phaseOf(record), skipped: 0, percent: isThere ? 100 : Math.floor(share * 99) },
    sizeBytes: record.sizeBytes,
    checksumSha256: record.sha256,
    downloadUrl: isThere && status !== 'expired' ? await downloadUrl(parts, record) : undefined,
    expiresAt: record.expiresAt ?? record.expiredAt,
    manifest: isThere ? manifestOf(record) : undefined,
    include: { ...include },
    error: error === undefined ? undefined : { ...error },
    createdBy: actorMessage(createdBy),
    createdAt,
    startedAt,
    finishedAt,
    attempt: Math.max(attempt, 1),
  };
}

function phaseOf(record: ArchiveRecord): string {
  if (!isActive(record)) return 'done';
  return record.status === 'queued' ? 'queued' : 'contents';
}

function manifestOf({ resources, files, faults }: ArchiveRecord) {
  return { resourceCount: resources, fileCount: files, errors: faults.map((fault) => ({ ...fault })) };
}

async function downloadUrl(parts: ArchiveParts, record: ArchiveRecord): Promise<string> {
  const name = nameOf(record);
  const shown = { contentType: 'application/zip', contentDisposition: contentDisposition('attachment', name) };
  const direct = await parts.bytes.signGet(archiveKey(record.id), DOWNLOAD_URL_SECONDS, shown);
  if (direct !== undefined) return direct.url;
  const expires = Math.floor(Date.now() / 1000) + DOWNLOAD_URL_SECONDS;
  const base = parts.settings.contentUrl ?? parts.settings.publicUrl;
  return `${base}/blobs/${parts.tokens.sign({ kind: 'archive', archiveId: record.id, name, expires })}`;
}

function nameOf({ workspace, createdAt, format }: ArchiveRecord): string {
  const slug = typeof workspace.slug === 'string' ? workspace.slug : 'workspace';
  return `${slug}-${createdAt.slice(0, 10)}${format === 'native' ? '' : `-${format}`}.zip`;
}
