import { LRUCache } from 'lru-cache';
import type { Deriver, Requester } from '../documents/kind/deriver.js';
import { namedIn } from '../documents/kind/hidden.js';

/** Maximum number of characters of cached bodies and their HTML. */
const MAX_CACHED_CHARS = 4_000_000;
/** Matches text that may contain Markdown markup. */
const MARKED = /[\\`*_[\]<>#&~$|:!+-]|^[ \t]*\d+[.)]/m;

/** Computes what readers see of the bodies of comments, which are Markdown. Long ones are parsed in a worker thread. */
export interface Bodies {
  /** Returns a body as HTML that is safe to embed. */
  html(requester: Requester, body: string): Promise<string>;
  /** Returns a body as the plain text that is searched. */
  plain(requester: Requester, body: string): Promise<string>;
  /** Returns the ids of the people whom a body mentions. */
  mentions(requester: Requester, body: string): Promise<readonly string[]>;
  /** Returns a body as a reader may see it: with placeholders for references to hidden resources. */
  shown(requester: Requester, body: string, hidden: ReadonlySet<string>): Promise<string>;
  /** Restores the hidden references in a body whose author saw placeholders in their place. */
  disclosed(requester: Requester, given: string, before: string, hidden: ReadonlySet<string>): Promise<string>;
}

export function createBodies(deriver: Pick<Deriver, 'run'>): Bodies {
  const rendered = new LRUCache<string, string>({
    maxSize: MAX_CACHED_CHARS,
    sizeCalculation: (html, body) => html.length + body.length + 1,
  });

  const shown: Bodies['shown'] = async (requester, body, hidden) =>
    namesHidden(body, hidden) ? deriver.run(requester, bytesOf(body), 'shownComment', body, hidden) : body;

  return {
    async html(requester, body) {
      const known = rendered.get(body);
      if (known !== undefined) return known;
      const html = await deriver.run(requester, bytesOf(body), 'commentHtml', body);
      rendered.set(body, html);
      return html;
    },
    plain: async (requester, body) =>
      MARKED.test(body) ? deriver.run(requester, bytesOf(body), 'commentText', body) : body,
    mentions: async (requester, body) => deriver.run(requester, bytesOf(body), 'commentMentions', body),
    shown,
    async disclosed(requester, given, before, hidden) {
      if (!namesHidden(given, hidden)) return given;
      if (given.trim() === (await shown(requester, before, hidden))) return before;
      return deriver.run(requester, bytesOf(given) + bytesOf(before), 'disclosedComment', given, before, hidden);
    },
  };
}

/** Returns whether a text names any of the hidden resources. */
export function namesHidden(text: string, hidden: ReadonlySet<string>): boolean {
  return hidden.size > 0 && namedIn(text).some((id) => hidden.has(id));
}

const bytesOf = (text: string) => Buffer.byteLength(text);
