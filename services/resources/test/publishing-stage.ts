import type { Caller } from '@commonplace/kit/auth';
import type { CallMetadata, Client, Reply } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import type { Implementation } from '@commonplace/platform/runtime';
import { ContentFormat, ReplaceContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import type { Publication } from '@commonplace/proto/resources/v1/publication.js';
import {
  PublishResourceRequest,
  PublishWorkspaceRequest,
  UpdateWorkspacePublicationRequest,
} from '@commonplace/proto/resources/v1/publication_service.js';
import {
  type ReaderPage,
  type ReaderService,
  ReadPageRequest,
  type ReadPageResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import { openSharingStage, type SharingStage } from './sharing-stage.js';

export const HOST = '127.0.0.1:8080';

export interface PublishingStage extends SharingStage {
  readonly reader: Client<ReaderService>;
  publish(
    by: Caller,
    id: string,
    fields?: Partial<PublishResourceRequest>,
    metadata?: Partial<CallMetadata>,
    reply?: Reply,
  ): Promise<Publication>;
  publishWorkspace(
    by: Caller,
    id: string,
    fields?: Partial<PublishWorkspaceRequest>,
    reply?: Reply,
  ): Promise<Publication>;
  changeWorkspace(by: Caller, id: string, fields: Partial<UpdateWorkspacePublicationRequest>): Promise<Publication>;
  publication(by: Caller, id: string): Promise<Publication>;
  unpublish(by: Caller, id: string): Promise<{ id: string; slugReservedUntil: string | undefined }>;
  write(by: Caller, id: string, markdown: string): Promise<void>;
  read(slug: string, fields?: Partial<ReadPageRequest>, proof?: string): Promise<ReadPageResponse>;
  /** Reads a page that must exist. */
  page(slug: string, path?: string, fields?: Partial<ReadPageRequest>): Promise<ReaderPage>;
  revision(slug: string): Promise<string>;
}

/** Adds the mask of the fields that are set, as the gateway does. */
function masked<T extends object>(fields: T): T & { updateMask: string[] } {
  const names = Object.keys(fields).map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  return { ...fields, updateMask: names };
}

/** Opens the stage; `others` are further fake services. */
export async function openPublishingStage(others: readonly Implementation[] = []): Promise<PublishingStage> {
  const sharing = await openSharingStage(undefined, others);
  const { stage } = sharing;
  const reader = stage.host.client(contracts.reader);
  const publications = stage.host.client(contracts.publications);
  const content = stage.host.client(contracts.content);
  const read: PublishingStage['read'] = async (slug, fields = {}, proof = undefined) => {
    const address = { host: HOST, slug, proof };
    return reader.readPage(ReadPageRequest.fromPartial({ address, ...fields }), await stage.as(undefined));
  };
  return {
    ...sharing,
    reader,
    publish: async (by, id, fields = {}, metadata = {}, reply = {}) =>
      publications.publishResource(
        PublishResourceRequest.fromPartial({ ...masked(fields), resourceId: id }),
        await stage.as(by, metadata, reply),
      ),
    publishWorkspace: async (by, id, fields = {}, reply = {}) =>
      publications.publishWorkspace(
        PublishWorkspaceRequest.fromPartial({ ...masked(fields), workspaceId: id }),
        await stage.as(by, {}, reply),
      ),
    changeWorkspace: async (by, id, fields) =>
      publications.updateWorkspacePublication(
        UpdateWorkspacePublicationRequest.fromPartial({ ...masked(fields), workspaceId: id }),
        await stage.as(by),
      ),
    publication: async (by, resourceId) => publications.getResourcePublication({ resourceId }, await stage.as(by)),
    unpublish: async (by, resourceId) => publications.unpublishResource({ resourceId }, await stage.as(by)),
    async write(by, resourceId, markdown) {
      const request = ReplaceContentRequest.fromPartial({ resourceId, markdown, format: ContentFormat.MARKDOWN });
      await content.replaceContent(request, await stage.as(by));
    },
    read,
    async page(slug, path = '', fields = {}) {
      const { page, ...rest } = await read(slug, { path, ...fields });
      if (page === undefined) throw new Error(`no page ${slug}/${path}: ${JSON.stringify(rest)}`);
      return page;
    },
    revision: async (slug) => {
      const address = { host: HOST, slug, proof: undefined };
      return (await reader.getRevision({ address }, await stage.as(undefined))).revision;
    },
  };
}
