import { VersionConflict } from '../errors/index.js';
import type { CallContext } from './port.js';

/** Who changed a record last and when, and who created it, as far as it is known. */
export interface Authorship {
  readonly updatedBy?: unknown;
  readonly updatedAt?: string | undefined;
  readonly createdBy?: unknown;
  readonly createdAt?: string | undefined;
}

/**
 * Throws if the caller's base version is not `current`, the version that the record has now. The error names who made
 * that version: of the first one that is who created the record, also where it does not say who changed it.
 */
export function requireVersion(context: CallContext, current: number, record: Authorship = {}): void {
  const { baseVersion } = context.metadata;
  if (baseVersion === undefined || baseVersion === current) return;
  const { createdBy, createdAt } = current === 1 ? record : {};
  throw VersionConflict({
    current_version: current,
    updated_by: record.updatedBy ?? createdBy ?? null,
    updated_at: record.updatedAt ?? createdAt ?? null,
  });
}
