import type { CollectionSpec } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';

export const nodeCollection: CollectionSpec<Node> = {
  name: 'nodes',
  indexes: [
    { fields: ['workspaceId', 'state', 'position'] },
    { fields: ['workspaceId', 'state', 'nameFold'] },
    { fields: ['workspaceId', 'state', 'createdAt'] },
    { fields: ['workspaceId', 'state', 'updatedAt'] },
    // The size makes sums of bytes by type, and the largest nodes, questions to the index alone.
    { fields: ['workspaceId', 'state', 'type', 'sizeBytes'] },
    // For reads of a whole workspace in the order of ids.
    { fields: ['workspaceId'] },
    { fields: ['workspaceId', 'state', 'trashedAt'], sparse: true },
    { fields: ['workspaceId', 'trashHead', 'trashedAt'], sparse: true },
    { fields: ['parentKey', 'state', 'position'] },
    // For counts of the children that a caller can see, which need no record then.
    { fields: ['parentKey', 'state', 'boundary', 'attachment'] },
    { fields: ['batchId'], sparse: true },
    { fields: ['state', 'purgeAt'], sparse: true },
    { fields: ['ancestors'], many: true },
    { fields: ['tags'], many: true },
    { fields: ['nameFold'], substrings: true },
    { fields: ['externalKey'], unique: true },
  ],
};
