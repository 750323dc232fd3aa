/** Roles on a resource, in ascending order: each includes all rights of the earlier ones. */
export const ROLES = ['viewer', 'commenter', 'editor', 'manager', 'owner'] as const;

export type Role = (typeof ROLES)[number];

/** The least role that each capability needs. */
export const MIN_ROLE = {
  read: 'viewer',
  comment: 'commenter',
  write: 'editor',
  manage: 'manager',
  own: 'owner',
} as const satisfies Record<string, Role>;

export type Capability = keyof typeof MIN_ROLE;

export function may(role: Role, capability: Capability): boolean {
  return isAtLeast(role, MIN_ROLE[capability]);
}

/** Returns whether a role includes all rights of another. */
export function isAtLeast(role: Role, minRole: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(minRole);
}
