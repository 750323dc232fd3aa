import { type Fault, invalidFields } from '@commonplace/kit/errors';
import { namesByValue } from '@commonplace/platform/enums';
import { PublicationMode, PublicationVisibility } from '@commonplace/proto/resources/v1/publication.js';
import type { PublishResourceRequest } from '@commonplace/proto/resources/v1/publication_service.js';
import { requireDomain } from './domain-names.js';
import type { Mode, PublicationRecord, Visibility } from './records.js';

/** The fields that configure a publication, in all three requests. */
export type PublicationInput = Omit<PublishResourceRequest, 'resourceId'>;

/** The fields of a request that are stored in the record; the others are a slug, a password and domains. */
export type Settings = Pick<
  PublicationRecord,
  | 'visibility'
  | 'expiresAt'
  | 'includeChildren'
  | 'allowIndexing'
  | 'title'
  | 'description'
  | 'imageFileId'
  | 'theme'
  | 'showToc'
  | 'showAuthor'
  | 'allowCopy'
  | 'allowDownload'
  | 'analyticsId'
  | 'mode'
>;

export const DEFAULTS: Settings = {
  visibility: 'unlisted',
  includeChildren: true,
  allowIndexing: false,
  showToc: true,
  showAuthor: false,
  allowCopy: true,
  allowDownload: true,
  mode: 'live',
};

const VISIBILITIES: Partial<Record<PublicationVisibility, Visibility>> = namesByValue(PublicationVisibility);
const MODES: Partial<Record<PublicationMode, Mode>> = namesByValue(PublicationMode);

interface ReadInput {
  readonly settings: Settings;
  /** A new password; null removes the current one, undefined keeps it. */
  readonly password: string | null | undefined;
  /** Undefined keeps the current domains. */
  readonly domains: readonly string[] | undefined;
}

/**
 * Returns the configuration after a request; fields that it does not set keep their values. `closedHosts` are refused
 * as domains. Throws one error with all faults.
 */
export function readInput(
  input: PublicationInput,
  before: Settings & Pick<PublicationRecord, 'passwordHash'>,
  now: string,
  closedHosts: readonly string[],
): ReadInput {
  const mask = new Set(input.updateMask ?? []);
  const faults: Fault[] = [];
  const password = mask.has('password') ? (input.password ?? null) : undefined;
  const settings: Settings = {
    ...settingsOf(input, before, mask),
    visibility: visibilityOf(input, before, password, faults),
  };
  if (settings.visibility === 'password' && !hasPassword(before, password)) {
    faults.push({ param: 'password', code: 'missing_field', message: 'is required for visibility password.' });
  }
  if (mask.has('expires_at') && settings.expiresAt !== undefined && settings.expiresAt <= now) {
    faults.push({ param: 'expires_at', code: 'invalid_value', message: 'must be in the future.' });
  }
  const domains = mask.has('custom_domains') ? readDomains(input.customDomains, closedHosts, faults) : undefined;
  if (faults.length > 0) throw invalidFields(faults);
  return { settings, password, domains };
}

function settingsOf(input: PublicationInput, before: Settings, mask: ReadonlySet<string>): Settings {
  const text = (name: string, value: string | undefined, was: string | undefined) => (mask.has(name) ? value : was);
  return {
    visibility: before.visibility,
    expiresAt: text('expires_at', input.expiresAt, before.expiresAt),
    includeChildren: input.includeChildren ?? before.includeChildren,
    allowIndexing: input.allowIndexing ?? before.allowIndexing,
    title: text('title', input.title, before.title),
    description: text('description', input.description, before.description),
    imageFileId: text('image_file_id', input.imageFileId, before.imageFileId),
    theme: text('theme', input.theme, before.theme),
    showToc: input.showToc ?? before.showToc,
    showAuthor: input.showAuthor ?? before.showAuthor,
    allowCopy: input.allowCopy ?? before.allowCopy,
    allowDownload: input.allowDownload ?? before.allowDownload,
    analyticsId: text('analytics_id', input.analyticsId, before.analyticsId),
    mode: MODES[input.mode ?? PublicationMode.UNSPECIFIED] ?? before.mode,
  };
}

/**
 * Returns the visibility. A password without a visibility implies `password`; with another visibility it is a fault, as
 * the item would be left open.
 */
function visibilityOf(
  input: PublicationInput,
  before: Settings,
  password: string | null | undefined,
  faults: Fault[],
): Visibility {
  const asked = VISIBILITIES[input.visibility ?? PublicationVisibility.UNSPECIFIED];
  if (typeof password !== 'string') return asked ?? before.visibility;
  if (asked !== undefined && asked !== 'password') {
    const message = 'must be password if a password is given.';
    faults.push({ param: 'visibility', code: 'invalid_value', message });
  }
  return 'password';
}

function hasPassword({ passwordHash }: Pick<PublicationRecord, 'passwordHash'>, given: string | null | undefined) {
  return given === undefined ? passwordHash !== undefined : given !== null;
}

function readDomains(given: readonly string[], closedHosts: readonly string[], faults: Fault[]): string[] {
  const read = new Set<string>();
  for (const [i, name] of given.entries()) {
    const domain = requireDomain(name, closedHosts);
    if (domain === undefined) {
      const message = 'must be a host name of your own, such as docs.example.com.';
      faults.push({ param: `custom_domains[${i}]`, code: 'invalid_value', message });
    } else read.add(domain);
  }
  return [...read];
}
