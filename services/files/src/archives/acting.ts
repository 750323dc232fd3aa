import type { ActAsParts } from '@commonplace/platform/acting';
import { type Acting, createActing } from '../acting.js';
import type { ArchiveRecord } from './records.js';

const SCOPES = ['resource:read', 'content:read', 'file:read', 'comment:read', 'snapshot:read', 'tag:read'];
const CALL_MS = 30_000;

/** Acts as the administrator who requested an export. */
export const actingFor = (parts: ActAsParts, archive: Pick<ArchiveRecord, 'userId' | 'orgId'>): Acting =>
  createActing(parts, archive, { scopes: SCOPES, callMs: CALL_MS });
