import type { Handlers } from '@commonplace/kit/rpc';
import type { ReaderService } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Parts } from '../parts.js';
import { checkPassword } from '../publications/check-password.js';
import { listIndexed } from '../publications/indexed.js';
import { openAddress } from '../publications/open.js';
import { openFile, readFile } from '../publications/published-files.js';
import { readPage } from '../publications/read-page.js';
import { searchPublication } from '../publications/search.js';

/** What the gateway's pages for readers are made of. Nobody's rights are asked: the publication is the right to read. */
export function createReaderHandlers(parts: Parts): Handlers<ReaderService> {
  return {
    getRevision: async ({ address }, context) => (await openAddress(parts, address, context)).revision,
    readPage: (request, context) => readPage(parts, request, context),
    searchPublication: (request, context) => searchPublication(parts, request, context),
    openPublishedFile: (request, context) => openFile(parts, request, context),
    readPublishedFile: (request, context) => readFile(parts, request, context),
    checkPublicationPassword: (request, context) => checkPassword(parts, request, context),
    listIndexed: (request, context) => listIndexed(parts, request, context),

    async countViews({ items }, { work }) {
      for (const { publicationId, views } of items.slice(0, VIEWED)) {
        const publication = await parts.publications.get(publicationId);
        if (publication === undefined || views < 1) continue;
        work.increment(parts.views, publicationId, 'views', views, { tenant: publication.tenant });
      }
      return {};
    },
  };
}

/** Publications that one report of views names. */
const VIEWED = 1000;
