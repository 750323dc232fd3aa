import { type Fault, invalidFields } from '@commonplace/kit/errors';
import type { WorkspaceSettings as WorkspaceSettingsMessage } from '@commonplace/proto/tenancy/v1/workspace.js';

/** What a workspace's administrators have set; the rest has defaults. */
export interface WorkspaceSettings {
  readonly timezone?: string;
  readonly locale?: string;
  readonly trashRetentionDays?: number;
  readonly editorsCanShare?: boolean;
  readonly allowAccessRequests?: boolean;
  readonly allowExternalAccessRequests?: boolean;
  readonly searchLanguages?: readonly string[];
}

const DEFAULTS = {
  timezone: 'UTC',
  locale: 'en',
  trashRetentionDays: 30,
  editorsCanShare: false,
  allowAccessRequests: true,
  allowExternalAccessRequests: false,
  searchLanguages: [] as readonly string[],
};

/** All settings of a workspace, with the defaults of those that nobody has set. */
export function fullWorkspaceSettings(settings: WorkspaceSettings): Required<WorkspaceSettings> {
  return { ...DEFAULTS, ...settings };
}

/** The fields named, checked and in their canonical spelling. Throws every fault at once. */
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
  if (name === 'timezone' && !isTimezone(value as string)) {
    const message = 'must be the name of a time zone, as Europe/Zurich.';
    faults.push({ param: 'settings.timezone', code: 'invalid_timezone', message });
  }
  if (name === 'locale') return canonicalLocale(value as string, 'settings.locale', faults);
  if (name !== 'searchLanguages') return value;
  const languages = value as readonly string[];
  return languages.map((tag, at) => canonicalLocale(tag, `settings.search_languages[${at}]`, faults));
}

/** Tells an IANA time zone; offsets are none. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function canonicalLocale(tag: string, param: string, faults: Fault[]): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? tag;
  } catch {
    faults.push({ param, code: 'invalid_value', message: 'must be a language tag, as en or pt-BR.' });
    return tag;
  }
}
