import { isObject } from '@commonplace/kit/json';

/** Free-form JSON from an archive; nothing in it has been validated. */
export type ArchiveJson = Readonly<Record<string, unknown>>;

export function recordIn(value: unknown): ArchiveJson {
  return isObject(value) ? value : {};
}

export function recordsIn(value: unknown): ArchiveJson[] {
  return Array.isArray(value) ? value.map(recordIn) : [];
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function momentIn(value: unknown): string | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
