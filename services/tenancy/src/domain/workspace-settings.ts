import { type Fault, invalidFields } from '@commonplace/kit/errors';
import { canonicalTimezone } from '@commonplace/kit/timezone';
import type { WorkspaceSettings as WorkspaceSettingsMessage } from '@commonplace/proto/tenancy/v1/workspace.js';

/** The settings that a workspace's administrators have set. Those that are absent have defaults. */
export interface WorkspaceSettings {
  readonly timezone?: string;
  readonly locale?: string;
  readonly trashRetentionDays?: number;
  readonly editorsCanShare?: boolean;
  readonly allowAccessRequests?: boolean;
  readonly allowExternalAccessRequests?: boolean;
  readonly searchLanguages?: readonly string[];
  readonly withholdOnRevoke?: boolean;
}

const DEFAULTS = {
  timezone: 'UTC',
  locale: 'en',
  trashRetentionDays: 30,
  editorsCanShare: false,
  allowAccessRequests: true,
  allowExternalAccessRequests: false,
  searchLanguages: [] as readonly string[],
  withholdOnRevoke: false,
};

/** Returns all settings of a workspace, with the defaults filled in. */
export function fullWorkspaceSettings(settings: WorkspaceSettings): Required<WorkspaceSettings> {
  return { ...DEFAULTS, ...settings };
}

/** Returns the named fields, validated and normalized. Throws one error that lists every fault. */
export function readWorkspaceSettings(
  given: Partial<WorkspaceSettingsMessage> | undefined,
  names: readonly string[],
): WorkspaceSettings {
  const faults: Fault[] = [];
  const read: Record<string, unknown> = {};
  for (const name of names) {
    const value = given?.[name as keyof WorkspaceSettingsMessage];
    if (value !== undefined) read[name] = readSetting(name, value, faults);
  }
  if (faults.length > 0) throw invalidFields(faults);
  return read as WorkspaceSettings;
}

function readSetting(name: string, value: unknown, faults: Fault[]): unknown {
  if (name === 'timezone') return readTimezone(value as string, faults);
  if (name === 'locale') return canonicalLocale(value as string, 'settings.locale', faults);
  if (name !== 'searchLanguages') return value;
  const languages = value as readonly string[];
  return [...new Set(languages.map((tag, at) => canonicalLocale(tag, `settings.search_languages[${at}]`, faults)))];
}

function readTimezone(name: string, faults: Fault[]): string {
  const timezone = canonicalTimezone(name);
  if (timezone !== undefined) return timezone;
  const message = 'must be the name of a time zone, such as Europe/Zurich.';
  faults.push({ param: 'settings.timezone', code: 'invalid_timezone', message });
  return name;
}

function canonicalLocale(tag: string, param: string, faults: Fault[]): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? tag;
  } catch {
    faults.push({ param, code: 'invalid_value', message: 'must be a language tag, such as en or pt-BR.' });
    return tag;
  }
}
