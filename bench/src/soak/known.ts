import { createHash } from 'node:crypto';

/** The state of a document according to the answers to its writes. */
export interface KnownDocument {
  readonly id: string;
  readonly workspaceId: string;
  readonly parentId: string;
  readonly name: string;
  readonly contentHash: string;
  readonly state: 'active' | 'trashed';
  readonly version: number;
  readonly contentVersion: number;
}

/** A document in the form in which the API returns it. */
export interface Resource {
  readonly id: string;
  readonly workspace_id: string;
  readonly parent_id: string | null;
  readonly name: string;
  readonly state: 'active' | 'trashed';
  readonly version: number;
  readonly content_version: number;
}

export function hashOf(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}

/**
 * Returns the differences between a document and its expected state, except for its content; empty if there are none.
 */
export function differences(known: KnownDocument, found: Resource): string[] {
  const pairs: [string, unknown, unknown][] = [
    ['workspace_id', known.workspaceId, found.workspace_id],
    ['parent_id', known.parentId, found.parent_id],
    ['name', known.name, found.name],
    ['state', known.state, found.state],
    ['version', known.version, found.version],
    ['content_version', known.contentVersion, found.content_version],
  ];
  return pairs
    .filter(([, wanted, given]) => wanted !== given)
    .map(([field, wanted, given]) => `${field} is ${JSON.stringify(given)}, not ${JSON.stringify(wanted)}`);
}
