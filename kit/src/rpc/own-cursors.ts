import { hash } from 'node:crypto';
import { invalidCursor, sealCursor, unsealCursor } from '../store/cursor.js';
import type { CallContext, MethodDefinition } from './port.js';

/** Number of characters of a seal. It prevents mistakes; it is no secret. */
const SEAL_LENGTH = 6;

type Handler = (request: unknown, context: CallContext) => Promise<unknown>;

interface ListRequest {
  readonly page: { readonly limit: number; readonly offset: number; readonly cursor: string };
}

interface ListAnswer {
  readonly page?: { readonly nextCursor?: string | undefined };
}

/**
 * Wraps a handler so that the cursors of its pages are sealed with the list that they are of: a cursor of another list,
 * order or filter is refused with `invalid_pagination`. `limit` and `include` may change from page to page. Cursors without
 * a seal are accepted: those that another process of the version before has issued, and those that are no keyset.
 */
export function withOwnCursors(method: MethodDefinition, handler: Handler): Handler {
  async function list(request: ListRequest, context: CallContext): Promise<unknown> {
    const { page } = request;
    const { cursor, seal } = unsealCursor(page.cursor);
    if (seal !== undefined && seal !== sealOf(method, request)) throw invalidCursor();
    const asked = seal === undefined ? request : { ...request, page: { ...page, cursor } };
    const answer = (await handler(asked, context)) as ListAnswer;
    const next = answer.page?.nextCursor;
    if (next === undefined || next === '') return answer;
    return { ...answer, page: { ...answer.page, nextCursor: sealCursor(next, sealOf(method, request)) } };
  }
  return (request, context) => (isListRequest(request) ? list(request, context) : handler(request, context));
}

function isListRequest(request: unknown): request is ListRequest {
  return typeof (request as Partial<ListRequest>).page?.cursor === 'string';
}

/** Returns a text by which a list is told from others: a hash of its method, filters and order. */
function sealOf(method: MethodDefinition, request: ListRequest): string {
  const { include, ...list } = { include: [], ...request, page: undefined };
  const bytes = method.requestSerialize({ ...list, include: Array.isArray(include) ? [] : include });
  return hash('sha256', Buffer.concat([Buffer.from(method.path), bytes]), 'base64url').slice(0, SEAL_LENGTH);
}
