import { AGENT_SCOPES, type AgentRole } from '@commonplace/kit/auth';
import type { ToolGroup } from './tool-group.js';

/** What a run may do at most; the scopes of the credential that started it limit it further. */
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

/** What every run needs to be given what the person has named. */
const ALWAYS: readonly string[] = ['resource:read', 'content:read'];

/**
 * Scopes that need more than a viewer of the workspace; all others do not. A viewer changes the work items that are assigned
 * to it.
 */
const LEAST_ROLE: Readonly<Record<string, AgentRole>> = {
  'comment:write': 'commenter',
  'content:write': 'editor',
  'resource:write': 'editor',
  'file:write': 'editor',
};

const ROLES: readonly (AgentRole | undefined)[] = [undefined, 'viewer', 'commenter', 'editor'];

/** Returns those of some scopes that tools of these groups need, as far as a role in the workspace gives them. */
export function scopesOf(
  held: readonly string[],
  groups: Iterable<ToolGroup>,
  role: AgentRole | undefined,
): readonly string[] {
  const needed = new Set([...ALWAYS, ...[...groups].flatMap((group) => BY_GROUP[group])]);
  const isGiven = (scope: string) => ROLES.indexOf(role) >= ROLES.indexOf(LEAST_ROLE[scope] ?? 'viewer');
  return held.filter((scope) => needed.has(scope) && isGiven(scope));
}
