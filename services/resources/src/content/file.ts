import { AppError } from '@commonplace/kit/errors';
import type { CallContext, CallOptions, Client } from '@commonplace/kit/rpc';
import type { FileText, FileTextService } from '@commonplace/proto/files/v1/file_text_service.js';
import { ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { Node } from '../domain/node.js';
import { ContentNotSupported, UnsupportedFormat, UseFilesEndpoint } from '../errors.js';
import type { Tree } from '../nodes/tree.js';
import type { ContentKind, Holder, Part } from './kind.js';

interface FileKindParts {
  readonly tree: Tree;
  readonly files: Pick<Client<FileTextService>, 'getTexts' | 'locatePages' | 'copyFile'>;
  readonly systemCall: () => CallOptions;
}

/** Maximum number of files in one request for texts. */
const MAX_FILES_PER_REQUEST = 100;

/**
 * Creates the content kind of files: the text that the files service extracted from their bytes and stores. Files are
 * written by uploads only.
 */
export function createFileKind({ tree, files, systemCall }: FileKindParts): ContentKind {
  async function textsOf(ids: readonly string[], call: CallOptions): Promise<FileText[]> {
    const found: FileText[] = [];
    for (let at = 0; at < ids.length; at += MAX_FILES_PER_REQUEST) {
      const { texts } = await files.getTexts({ resourceIds: ids.slice(at, at + MAX_FILES_PER_REQUEST) }, call);
      found.push(...texts);
    }
    return found;
  }

  /** Returns no texts while the files service is unreachable, so that search continues by names. */
  async function textsOrNone(nodes: readonly Node[]): Promise<ReadonlyMap<string, string>> {
    const ids = nodes.map(({ id }) => id);
    const texts = await reached(textsOf(ids, systemCall()), []);
    return new Map(texts.map(({ resourceId, text }) => [resourceId, text]));
  }

  return {
    create() {
      throw UseFilesEndpoint({}, { param: 'type' });
    },
    async read(node, { format }, context) {
      if (format !== ContentFormat.UNSPECIFIED && format !== ContentFormat.TEXT) {
        throw UnsupportedFormat({ formats: 'text' }, { param: 'format' });
      }
      const [found] = await textsOf([node.id], context.onward);
      return { format: ContentFormat.TEXT, text: found?.text ?? '', textExtraction: found?.textExtraction ?? 'none' };
    },
    write: refused,
    keep: refused,
    readKept: refused,
    restore: refused,
    forget: async () => {},
    copy: (from, to, context) => copyFile(tree, files, from, to, context),
    // The files service consumes the event of the purge.
    remove: async () => {},
    text: async (node) => (await textsOrNone([node])).get(node.id) ?? '',
    texts: textsOrNone,
    async locate(places) {
      const asked = [...places].flatMap(([resourceId, some]) => some.map((place) => ({ resourceId, ...place })));
      const { pages } = await reached(files.locatePages({ places: asked }, systemCall()), { pages: [] });
      let next = 0;
      const partOf = (page = 0): Part | undefined => (page === 0 ? undefined : { page });
      return new Map([...places].map(([id, some]) => [id, some.map(() => partOf(pages[next++]))]));
    },
  };
}

const UNREACHABLE: ReadonlySet<string> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED']);

/** Returns the files service's response, or `otherwise` while the service is unreachable. */
async function reached<T>(answer: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AppError && UNREACHABLE.has(error.code)) return otherwise;
    throw error;
  }
}

async function refused(): Promise<never> {
  throw ContentNotSupported({ type: 'file' });
}

/** Copies a file. Both nodes share the bytes afterwards; the copy's node records the version. */
async function copyFile({ nodes }: Tree, files: FileKindParts['files'], from: Node, to: Holder, context: CallContext) {
  const { id, tenant, workspaceId } = to;
  const request = { fromResourceId: from.id, toResourceId: id, tenant, workspaceId };
  const { contentType, sizeBytes, revision, copied } = await files.copyFile(request, context.onward).catch((error) => {
    // A job skips a file that exceeds the quota; a user gets the error.
    if (context.metadata.token !== undefined || !isOverQuota(error)) throw error;
    return { contentType: '', sizeBytes: 0, revision: '', copied: false };
  });
  return {
    changed: true,
    sizeBytes,
    warnings: [],
    loses: false,
    async apply() {
      const node = await context.work.get(nodes, id);
      if (node === undefined || !copied) return;
      const file = { contentType, sizeBytes, status: 'ready', revision };
      context.work.replace(nodes, node, { ...node, file, sizeBytes });
    },
  };
}

function isOverQuota(error: unknown): boolean {
  return error instanceof AppError && error.reason === 'storage_quota_exceeded';
}
