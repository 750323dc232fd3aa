import { fingerprint } from '@commonplace/kit/id';
import { GranteeType, LinkAudience } from '@commonplace/proto/resources/v1/permission.js';

const TYPES = {
  user: GranteeType.USER,
  invitee: GranteeType.USER,
  agent: GranteeType.AGENT,
  org: GranteeType.ORG,
  workspace: GranteeType.WORKSPACE,
  link: GranteeType.LINK,
  group: GranteeType.GROUP,
} as const;

type PrincipalKind = keyof typeof TYPES;

/** Splits a principal as grants name it into its kind and id. */
export function splitPrincipal(principal: string): { kind: PrincipalKind; id: string } {
  const colon = principal.indexOf(':');
  return { kind: principal.slice(0, colon) as PrincipalKind, id: principal.slice(colon + 1) };
}

export function granteeType(kind: PrincipalKind): GranteeType {
  return TYPES[kind];
}

/** Returns the principal for a type and an id; undefined for links, which are named by their token. */
export function principalNamed(type: GranteeType, id: string): string | undefined {
  const kind = (['user', 'agent', 'org', 'workspace', 'group'] as const).find((one) => TYPES[one] === type);
  return kind === undefined ? undefined : `${kind}:${id}`;
}

/** Returns whether a principal is a group. */
export function isGroup(principal: string): boolean {
  return principal.startsWith('group:');
}

/** Returns the principal of a caller who presents a link's token. */
export function linkPrincipal(token: string): string {
  return `link:${fingerprint('share-link', token)}`;
}

/** Returns the name of a principal for events and responses, which hides the hash of a link. */
export function publicName(principal: string): string {
  return principal.startsWith('link:') ? 'link' : principal;
}

export const AUDIENCES = { org: LinkAudience.ORG, anyone: LinkAudience.ANYONE } as const;
