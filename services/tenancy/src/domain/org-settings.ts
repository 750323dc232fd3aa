import { type Fault, invalidFields } from '@commonplace/kit/errors';
import { AgentApprovalMinimum, type OrgSettings as OrgSettingsMessage } from '@commonplace/proto/tenancy/v1/org.js';
import type { WorkspaceRole as WorkspaceRoleName } from '@commonplace/proto/tenancy/v1/role.js';
import { DEFAULT_ROLES, type DefaultRole, workspaceRoleOf } from './roles.js';

/** The settings that an Org's administrators have set. Those that are absent have defaults. */
export interface OrgSettings {
  readonly membersCanCreateWorkspaces?: boolean;
  readonly defaultWorkspaceRole?: DefaultRole;
  readonly allowPublicPublishing?: boolean;
  readonly allowExternalSharing?: boolean;
  /** In lower case; an empty list allows every domain. */
  readonly allowedEmailDomains?: readonly string[];
  readonly maxKeyLifetimeDays?: number;
  readonly agentApprovalMinimum?: 'risky' | 'always';
  readonly urlAllowlist?: readonly string[];
  readonly dataRegion?: string;
  readonly approvalsByKey?: boolean;
}

const DEFAULTS = {
  membersCanCreateWorkspaces: true,
  allowPublicPublishing: true,
  allowExternalSharing: true,
  allowedEmailDomains: [] as readonly string[],
  urlAllowlist: [] as readonly string[],
  approvalsByKey: false,
};

/** Returns all settings of an Org, with the defaults filled in. */
export function fullOrgSettings(settings: OrgSettings): OrgSettings & typeof DEFAULTS {
  return { ...DEFAULTS, ...settings };
}

/** Returns the named fields, validated and normalized. Throws one error that lists every fault. */
export function readOrgSettings(given: Partial<OrgSettingsMessage> | undefined, names: readonly string[]): OrgSettings {
  const faults: Fault[] = [];
  const read: Record<string, unknown> = {};
  for (const name of names) {
    const value = given?.[name as keyof OrgSettingsMessage];
    if (value !== undefined) read[name] = readSetting(name, value, faults);
  }
  if (faults.length > 0) throw invalidFields(faults);
  return read as OrgSettings;
}

function readSetting(name: string, value: unknown, faults: Fault[]): unknown {
  switch (name) {
    case 'defaultWorkspaceRole':
      return readDefaultRole(value as WorkspaceRoleName, 'settings.default_workspace_role', faults);
    case 'agentApprovalMinimum':
      return value === AgentApprovalMinimum.ALWAYS ? 'always' : 'risky';
    case 'allowedEmailDomains':
      return (value as readonly string[]).map((domain, at) => readDomain(domain, at, faults));
    case 'urlAllowlist':
      return (value as readonly string[]).map((entry, at) => readAllowed(entry, at, faults));
    default:
      return value;
  }
}

/**
 * Returns the default role of that name; adds a fault if it is not allowed. Roles above editor are granted to each
 * person individually.
 */
export function readDefaultRole(name: WorkspaceRoleName, param: string, faults: Fault[]): DefaultRole | undefined {
  const role = DEFAULT_ROLES.find((one) => one === workspaceRoleOf(name));
  if (role === undefined) {
    faults.push({ param, code: 'invalid_value', message: `must be null or one of ${DEFAULT_ROLES.join(', ')}.` });
  }
  return role;
}

const DOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;

function readDomain(text: string, at: number, faults: Fault[]): string {
  const domain = text.trim().toLowerCase().replace(/^@/, '');
  if (!DOMAIN.test(domain)) {
    const param = `settings.allowed_email_domains[${at}]`;
    faults.push({ param, code: 'invalid_value', message: 'must be a domain, such as example.org.' });
  }
  return domain;
}

/**
 * Returns an allowlist entry, trimmed: a host, a host after `*.`, or the beginning of a URL. Adds a fault
 * otherwise.
 */
function readAllowed(text: string, at: number, faults: Fault[]): string {
  const entry = text.trim();
  const asUrl = /^https?:\/\//.test(entry) ? entry : `https://${entry.replace(/^\*\./, '')}`;
  if (entry === '' || entry.length > 2048 || !URL.canParse(asUrl)) {
    const param = `settings.url_allowlist[${at}]`;
    faults.push({ param, code: 'invalid_url', message: 'must be a host, such as *.example.org, or a URL.' });
  }
  return entry;
}
