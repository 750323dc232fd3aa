import type { Actor as Doer } from '@commonplace/kit/auth';
import { type Actor, ActorType } from '@commonplace/proto/api/v1/actor.js';
import type { FileSummary } from '@commonplace/proto/resources/v1/resource.js';
import type { Parts } from '../parts.js';
import type { FileRecord, Version } from '../stores/records.js';

export interface News {
  readonly bytesChanged?: boolean;
  readonly textChanged?: boolean;
  readonly actor?: Doer;
}

/** Tells the tree what a file holds now. False where its node is gone. */
export async function tell(parts: Parts, file: FileRecord, news: News = {}): Promise<boolean> {
  const version = file.versionId === undefined ? undefined : await parts.versions.get(file.versionId);
  const { found } = await parts.nodes.setFileState(
    {
      id: file.id,
      revision: version?.id ?? file.revision,
      file: summaryOf(file, version),
      bytesChanged: news.bytesChanged === true && version !== undefined,
      textChanged: news.textChanged === true,
      actor: news.actor === undefined ? undefined : actorMessage(news.actor),
    },
    parts.systemCall(),
  );
  return found;
}

/** What a file's node says of it: its bytes, where it has any. */
export function summaryOf(file: FileRecord, version: Version | undefined): FileSummary {
  return version === undefined
    ? { contentType: file.saidType, sizeBytes: file.saidBytes, status: file.status }
    : { contentType: version.contentType, sizeBytes: version.sizeBytes, status: 'ready' };
}

const TYPES: Record<Doer['type'], ActorType> = {
  user: ActorType.USER,
  agent: ActorType.AGENT,
  api_key: ActorType.API_KEY,
  automation: ActorType.AUTOMATION,
  import: ActorType.IMPORT,
  system: ActorType.SYSTEM,
};

export function actorMessage({ type, id, name }: Doer): Actor {
  return { type: TYPES[type], id, name };
}
