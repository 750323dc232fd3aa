import { fingerprint } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type {
  CheckPublicationPasswordRequest,
  CheckPublicationPasswordResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import type { Parts } from '../parts.js';
import type { PasswordTries, PublicationRecord } from '../stores/publications.js';
import { addressesOf } from './face.js';
import { openAddress } from './open.js';
import { PROOF_SECONDS, signProof } from './proofs.js';

const TRIES = 10;
const WINDOW_MS = 10 * 60_000;

/**
 * Looks at one try. A wrong one is written down with its answer, so that of many at once no more than ten are told
 * anything; what is over is told without looking at the password.
 */
export async function checkPassword(
  parts: Parts,
  { address, password, clientIp }: CheckPublicationPasswordRequest,
  context: CallContext,
): Promise<CheckPublicationPasswordResponse> {
  const opening = await openAddress(parts, address && { ...address, proof: undefined }, context);
  const { revision } = opening;
  const missing = { gone: opening.kind === 'missing' && opening.gone, refused: false };
  if (opening.kind !== 'password') return { ...NONE, revision, missing };
  const { publication } = opening.opened;
  const nowMs = Date.now();
  const now = new Date(nowMs).toISOString();
  const known = await triesOf(parts, publication, clientIp, now, context);
  if (known.tries >= TRIES) {
    const retryAfterSeconds = Math.max(1, Math.ceil((Date.parse(known.until) - nowMs) / 1000));
    return { ...NONE, revision, refused: { retryAfterSeconds, triesLeft: 0 } };
  }
  if (!(await parts.passwords.verify(publication.passwordHash, password))) {
    const tries = known.tries + 1;
    write(parts, known, { ...known, tries }, context);
    return { ...NONE, revision, refused: { retryAfterSeconds: 0, triesLeft: TRIES - tries } };
  }
  const { home } = addressesOf(opening.opened);
  const proof = { proof: signProof(publication, nowMs), expiresInSeconds: PROOF_SECONDS, path: home };
  return { ...NONE, revision, proof };
}

const NONE = { proof: undefined, refused: undefined, missing: undefined };

type Tries = Omit<PasswordTries, 'version'> & { readonly version?: number };

/** What is known of tries from a place; its address is not kept. */
async function triesOf(
  parts: Parts,
  { id: publicationId, tenant }: PublicationRecord,
  clientIp: string,
  now: string,
  { work }: CallContext,
): Promise<Tries> {
  const id = fingerprint(publicationId, clientIp);
  const until = new Date(Date.parse(now) + WINDOW_MS).toISOString();
  const known = await work.get(parts.passwordTries, id);
  if (known === undefined) return { id, tenant, tries: 0, until };
  return known.until <= now ? { ...known, tries: 0, until } : known;
}

function write(parts: Parts, { version }: Tries, after: Tries, { work }: CallContext): void {
  const { version: _, ...record } = after;
  if (version === undefined) work.insert(parts.passwordTries, record);
  else work.replace(parts.passwordTries, { ...record, version }, record);
}

/** Forgets tries whose time is over. */
export async function forgetTries({ passwordTries, store }: Parts, now: string): Promise<void> {
  const over = await passwordTries.find({ where: { until: { lte: now } }, sort: ['until'], limit: 500 });
  if (over.length === 0) return;
  const work = store.begin();
  for (const one of over) work.remove(passwordTries, one);
  await work.commit();
}
