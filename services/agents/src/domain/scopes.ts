import { AGENT_SCOPES, type AgentRole } from '@commonplace/kit/auth';
import type { ToolGroup } from './tool-group.js';

/** The maximum scopes of a run. The scopes of the credential that starts it limit them further. */
export const RUN_SCOPES: readonly string[] = AGENT_SCOPES;

/** The scopes that the tools of each group need. */
const BY_GROUP: Readonly<Record<ToolGroup, readonly string[]>> = {
  search: ['search:read', 'resource:read', 'content:read'],
  read: ['resource:read', 'content:read'],
  write: ['resource:read', 'content:read', 'content:write'],
  create: ['resource:read', 'resource:write'],
  comment: ['resource:read', 'comment:read', 'comment:write'],
  table: ['resource:read', 'content:read', 'content:write'],
  file: ['resource:read', 'file:read', 'file:write'],
  web_fetch: [],
  work_item: ['work_item:read', 'work_item:write'],
  memory: ['memory:read', 'memory:write'],
  im: ['im:read', 'im:write'],
};

/** The scopes of every run, for reading the resources that the person has named. */
const ALWAYS: readonly string[] = ['resource:read', 'content:read'];

/**
 * Scopes that need a higher role than viewer in the workspace. `work_item:write` does not, since a viewer may change
 * the work items assigned to it.
 */
const MIN_ROLE_BY_SCOPE: Readonly<Record<string, AgentRole>> = {
  'comment:write': 'commenter',
  'content:write': 'editor',
  'resource:write': 'editor',
  'file:write': 'editor',
};

const ROLES: readonly (AgentRole | undefined)[] = [undefined, 'viewer', 'commenter', 'editor'];

/** Returns the held scopes that tools of the groups need and the role in the workspace allows. */
export function scopesOf(
  held: readonly string[],
  groups: Iterable<ToolGroup>,
  role: AgentRole | undefined,
): readonly string[] {
  const needed = new Set([...ALWAYS, ...[...groups].flatMap((group) => BY_GROUP[group])]);
  const isGiven = (scope: string) => ROLES.indexOf(role) >= ROLES.indexOf(MIN_ROLE_BY_SCOPE[scope] ?? 'viewer');
  return held.filter((scope) => needed.has(scope) && isGiven(scope));
}
