import type { Claim, Rate, Reservation } from '@commonplace/kit/limits';
import { countedNetwork } from '@commonplace/kit/network';
import type { CallContext } from '@commonplace/kit/rpc';
import type {
  CheckPublicationPasswordRequest,
  CheckPublicationPasswordResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import { addressesOf } from './face.js';
import { openAddress } from './open.js';
import type { PublicationParts } from './parts.js';
import { hasProvenBefore, PROOF_SECONDS, REMEMBERED_SECONDS, signProof } from './proofs.js';
import type { PublicationRecord } from './records.js';

const NETWORK_WINDOW_MS = 10 * 60_000;
const PUBLICATION_WINDOW_MS = 60 * 60_000;

/**
 * Checks one attempt, which is counted before its password is compared: of many concurrent attempts, no more than the
 * limits allow learn anything, the correct password included. A correct attempt is released again.
 */
export async function checkPassword(
  parts: PublicationParts,
  { address, password, clientIp }: CheckPublicationPasswordRequest,
  context: CallContext,
): Promise<CheckPublicationPasswordResponse> {
  const opening = await openAddress(parts, address && { ...address, proof: undefined }, context);
  const { revision } = opening;
  const missing = { gone: opening.kind === 'missing' && opening.gone, refused: false };
  if (opening.kind !== 'password') return { ...NONE, revision, missing };
  const { publication } = opening.opened;
  const isKnown = address?.proof !== undefined && hasProvenBefore(publication, address.proof, Date.now());
  const attempt = await parts.passwordTries.reserve(claimsOf(parts, publication, clientIp, isKnown));
  if (!attempt.granted) {
    return { ...NONE, revision, refused: { retryAfterSeconds: attempt.retryAfterSeconds, triesLeft: 0 } };
  }
  const matches = await verified(parts, publication, password, attempt);
  if (!matches) return { ...NONE, revision, refused: { retryAfterSeconds: 0, triesLeft: Math.min(...attempt.left) } };
  const { home } = addressesOf(opening.opened);
  const times = { expiresInSeconds: PROOF_SECONDS, rememberedSeconds: REMEMBERED_SECONDS };
  return { ...NONE, revision, proof: { proof: signProof(publication, Date.now()), ...times, path: home } };
}

const NONE = { proof: undefined, refused: undefined, missing: undefined };

/** Compares the password. Releases the attempt if it was correct, or if the comparison failed with an error. */
async function verified(
  { passwords }: PublicationParts,
  { passwordHash }: PublicationRecord,
  password: string,
  attempt: Extract<Reservation, { granted: true }>,
): Promise<boolean> {
  let matches: boolean | undefined;
  try {
    matches = await passwords.verify(passwordHash, password);
    return matches;
  } finally {
    if (matches !== false) await attempt.release();
  }
}

/**
 * Returns the limits that an attempt counts against: one for its network, and one for the publication over all
 * networks, which slows down attacks from many networks. A reader who has opened the publication before counts for
 * their network alone, so that strangers who guess lock no reader out.
 */
function claimsOf(
  { settings }: PublicationParts,
  { id, tenant }: PublicationRecord,
  clientIp: string,
  isKnown: boolean,
): readonly Claim[] {
  const network = countedNetwork(clientIp, settings.ipv6Prefix);
  const perNetwork: Rate = {
    count: settings.publicationPasswordTries,
    windowMs: NETWORK_WINDOW_MS,
    comesBack: 'together',
  };
  const perPublication: Rate = {
    count: settings.publicationPasswordTriesTotal,
    windowMs: PUBLICATION_WINDOW_MS,
    comesBack: 'gradually',
  };
  const ofNetwork: Claim = { key: ['network', id, network], rate: perNetwork, tenant };
  return isKnown ? [ofNetwork] : [ofNetwork, { key: ['publication', id], rate: perPublication, tenant }];
}
