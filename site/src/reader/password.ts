import { readBytes } from '@commonplace/kit/http';
import { type ReaderAddress, ReaderFormat } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
import { callOf, type Place, type ReaderParts } from './parts.js';
import { sendOnce } from './send.js';
import { gatePage, missingPage } from './view/plain.js';

const MAX_BYTES = 4096;

/**
 * Checks a password. If it is correct, sets the proof cookie, which opens the publication in this browser for a limited
 * time.
 */
export async function checkPassword(ctx: Context, parts: ReaderParts, { address }: Place): Promise<void> {
  if (!isOwnForm(ctx, parts)) return sendOnce(ctx, 403, missingPage(false));
  const body = await readBytes(ctx.req, MAX_BYTES).catch(() => Buffer.alloc(0));
  const fields = new URLSearchParams(body.toString('utf8'));
  const request = { address, password: fields.get('password') ?? '', clientIp: ctx.state.clientIp };
  const { proof, refused } = await parts.reader.checkPublicationPassword(request, callOf(ctx, parts));
  if (proof !== undefined) {
    parts.cookie.set(ctx, { value: proof.proof, seconds: proof.rememberedSeconds, path: proof.path });
    ctx.status = 303;
    ctx.set('Cache-Control', 'no-store');
    ctx.set('Location', nextOf(fields.get('next'), ctx.path));
    ctx.body = '';
  } else if (refused !== undefined) {
    const { retryAfterSeconds: wait } = refused;
    if (wait > 0) ctx.set('Retry-After', String(wait));
    const fault =
      wait > 0 ? `That was tried too often. Try again in ${Math.ceil(wait / 60)} min.` : 'That is not the password.';
    const next = nextOf(fields.get('next'), ctx.path);
    const gate = { theme: '', language: '', ...(await findGate(ctx, parts, address)), path: ctx.path };
    sendOnce(ctx, wait > 0 ? 429 : 403, gatePage({ ...gate, next, fault }));
  } else {
    sendOnce(ctx, 404, missingPage(false));
  }
}

/** Returns how the password form of a publication looks. */
async function findGate(ctx: Context, parts: ReaderParts, address: ReaderAddress) {
  const request = {
    address: { ...address, proof: undefined },
    path: '',
    format: ReaderFormat.HTML,
    offset: 0,
    limit: 1,
  };
  return (await parts.reader.readPage(request, callOf(ctx, parts))).passwordRequired;
}

/** Returns whether a page of this host sent the form. Submissions from other sites are refused. */
function isOwnForm(ctx: Context, { hostOf }: Pick<ReaderParts, 'hostOf'>): boolean {
  const origin = ctx.get('Origin');
  if (ctx.get('Sec-Fetch-Site') === 'cross-site') return false;
  return origin === '' || (URL.canParse(origin) && hostOf(new URL(origin)) === hostOf(ctx));
}

/** Any origin: the requested page is a path, which is parsed like in browsers. */
const HERE = 'http://here.invalid';

/** Returns the requested page, with its query, if it is the protected page or below it, otherwise the protected page. */
function nextOf(next: string | null, base: string): string {
  if (next === null || !URL.canParse(next, HERE)) return base;
  const { origin, pathname, search } = new URL(next, HERE);
  const isBelow = pathname === base || pathname.startsWith(base === '/' ? base : `${base}/`);
  return origin === HERE && isBelow && !pathname.startsWith('//') ? pathname + search : base;
}
