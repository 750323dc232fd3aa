import type { Guard } from '@commonplace/kit/fetch';

/** A page or text received from a server. */
export interface PageText {
  /** The URL after redirects. */
  readonly url: string;
  readonly isHtml: boolean;
  readonly text: string;
}

/** Thrown if a server's response is not a readable text. The message is for the model. */
export class UnreadablePage extends Error {}

const TEXT = /^(?:text\/[\w.+-]+|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|javascript)|application\/x-yaml)$/;
const HTML: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml']);

/** Fetches a text through the guard, without credentials. Throws `UnreadablePage` and `UrlNotAllowed`. */
export async function fetchText(
  guard: Guard,
  url: string,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<PageText> {
  const headers = { accept: 'text/html, text/*;q=0.9, application/json;q=0.8', 'user-agent': 'Commonplace' };
  const answer = await guard.fetch(url, { headers, signal });
  try {
    if (answer.status < 200 || answer.status > 299) throw new UnreadablePage(`The server answered ${answer.status}.`);
    const type = String(answer.headers['content-type'] ?? '');
    const [media = ''] = type.toLowerCase().split(';', 1);
    const isHtml = HTML.has(media.trim());
    if (!isHtml && !TEXT.test(media.trim())) throw new UnreadablePage('It is not text.');
    const encoding = String(answer.headers['content-encoding'] ?? 'identity');
    if (encoding !== 'identity') throw new UnreadablePage('It is compressed, which was not requested.');
    const bytes = await readBytes(answer.body, maxBytes);
    return { url: answer.url.href, isHtml, text: decode(bytes, type) };
  } finally {
    answer.body.destroy();
  }
}

async function readBytes(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new UnreadablePage(`It has more than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Decodes bytes in the charset that the content type or the page names, or in UTF-8 if there is none or it is unknown.
 */
function decode(bytes: Buffer, type: string): string {
  const named = /charset\s*=\s*["']?([\w-]{1,40})/i;
  const charset = named.exec(type)?.[1] ?? named.exec(bytes.toString('latin1', 0, 2_048))?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
