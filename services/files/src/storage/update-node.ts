import type { Actor as Doer } from '@commonplace/kit/auth';
import { actorMessage } from '@commonplace/platform/actors';
import type { FileSummary } from '@commonplace/proto/resources/v1/resource.js';
import type { StorageParts } from './parts.js';
import type { FileRecord, Version } from './records.js';

interface NodeChange {
  readonly bytesChanged?: boolean;
  readonly textChanged?: boolean;
  readonly actor?: Doer;
}

/** Updates the file's node in the tree with what the file holds now. Returns false when the node is gone. */
export async function updateNode(
  parts: Pick<StorageParts, 'versions' | 'nodes' | 'systemCall'>,
  file: FileRecord,
  change: NodeChange = {},
): Promise<boolean> {
  const version = file.versionId === undefined ? undefined : await parts.versions.get(file.versionId);
  const { found } = await parts.nodes.setFileState(
    {
      id: file.id,
      revision: version?.id ?? file.revision,
      file: summaryOf(file, version),
      bytesChanged: change.bytesChanged === true && version !== undefined,
      textChanged: change.textChanged === true,
      actor: change.actor === undefined ? undefined : actorMessage(change.actor),
    },
    parts.systemCall(),
  );
  return found;
}

/** Returns the summary that a file's node shows: that of its bytes if it has any, else what was announced. */
function summaryOf(file: FileRecord, version: Version | undefined): FileSummary {
  return version === undefined
    ? { contentType: file.saidType, sizeBytes: file.saidBytes, status: file.status }
    : { contentType: version.contentType, sizeBytes: version.sizeBytes, status: 'ready' };
}
