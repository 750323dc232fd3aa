import type { Handlers } from '@commonplace/kit/rpc';
import type { ReaderService } from '@commonplace/proto/resources/v1/reader_service.js';
import { checkPassword } from '../check-password.js';
import { listIndexed } from '../indexed.js';
import { openAddress } from '../open.js';
import type { PublicationParts } from '../parts.js';
import { openFile, readFile } from '../published-files.js';
import { readPage } from '../read-page.js';
import { searchPublication } from '../search.js';

/**
 * Creates the handlers for the gateway's pages of publications. They check no caller: the publication gives the right
 * to read.
 */
export function createReaderHandlers(parts: PublicationParts): Handlers<ReaderService> {
  return {
    getRevision: async ({ address }, context) => (await openAddress(parts, address, context)).revision,
    readPage: (request, context) => readPage(parts, request, context),
    searchPublication: (request, context) => searchPublication(parts, request, context),
    openPublishedFile: (request, context) => openFile(parts, request, context),
    readPublishedFile: (request, context) => readFile(parts, request, context),
    checkPublicationPassword: (request, context) => checkPassword(parts, request, context),
    listIndexed: (request, context) => listIndexed(parts, request, context),

    async countViews({ items }, { work }) {
      for (const { publicationId, views } of items.slice(0, MAX_VIEWED_PUBLICATIONS)) {
        const publication = await parts.publications.get(publicationId);
        if (publication === undefined || views < 1) continue;
        work.increment(parts.views, publicationId, 'views', views, { tenant: publication.tenant });
      }
      return {};
    },
  };
}

/** Maximum number of publications in one report of views. */
const MAX_VIEWED_PUBLICATIONS = 1000;
