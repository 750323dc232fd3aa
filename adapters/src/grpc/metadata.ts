import type { CallMetadata, Reply } from '@commonplace/kit/rpc';
import { traceContext, traceHeaders } from '@commonplace/kit/telemetry';
import { Metadata } from '@grpc/grpc-js';

const PEER = 'x-peer-token';
const TOKEN = 'authorization';
const REQUEST_ID = 'x-request-id';
const TRACEPARENT = 'traceparent';
const TRACESTATE = 'tracestate';
const BASE_VERSION = 'x-base-version';
const SHARE_LINK = 'x-share-link';
const IDEMPOTENCY_ID = 'x-idempotency-id';
const IDEMPOTENCY_FINGERPRINT = 'x-idempotency-fingerprint';
const BACKGROUND = 'x-background';
const REPLY = 'x-reply-bin';
const UTILIZATION = 'x-utilization';
/** Utilization of the event loop below which a server does not report it. */
const REPORTED_UTILIZATION = 0.5;

/** Converts a call's metadata to gRPC metadata. */
export function toGrpc(call: CallMetadata, peerToken: string): Metadata {
  const metadata = new Metadata();
  metadata.set(PEER, peerToken);
  metadata.set(REQUEST_ID, call.requestId);
  if (call.token !== undefined) metadata.set(TOKEN, call.token);
  const { traceparent, tracestate } = traceHeaders(call.traceparent);
  if (traceparent !== undefined) metadata.set(TRACEPARENT, traceparent);
  if (tracestate !== undefined) metadata.set(TRACESTATE, tracestate);
  if (call.baseVersion !== undefined) metadata.set(BASE_VERSION, String(call.baseVersion));
  if (call.shareLink !== undefined) metadata.set(SHARE_LINK, call.shareLink);
  if (call.background) metadata.set(BACKGROUND, '1');
  if (call.idempotency !== undefined) {
    metadata.set(IDEMPOTENCY_ID, call.idempotency.id);
    metadata.set(IDEMPOTENCY_FINGERPRINT, call.idempotency.fingerprint);
  }
  return metadata;
}

/** Returns a call's metadata and its peer token from gRPC metadata. */
export function fromGrpc(metadata: Metadata): { call: CallMetadata; peerToken: string | undefined } {
  const text = (key: string): string | undefined => metadata.get(key)[0]?.toString();
  const id = text(IDEMPOTENCY_ID);
  const baseVersion = text(BASE_VERSION);
  return {
    peerToken: text(PEER),
    call: {
      requestId: text(REQUEST_ID) ?? '',
      token: text(TOKEN),
      traceparent: traceContext(text(TRACEPARENT), text(TRACESTATE)),
      baseVersion: baseVersion === undefined ? undefined : Number(baseVersion),
      shareLink: text(SHARE_LINK),
      background: text(BACKGROUND) === '1' ? true : undefined,
      idempotency: id === undefined ? undefined : { id, fingerprint: text(IDEMPOTENCY_FINGERPRINT) ?? '' },
    },
  };
}

/**
 * Returns a trailer with the handler's reply metadata and, if the server is busy, the utilization of its event loop from
 * 0 to 1; undefined if there is neither.
 */
export function replyTrailer(reply: Reply, utilization: number): Metadata | undefined {
  const isEmpty = Object.values(reply).every((value) => value === undefined);
  if (isEmpty && utilization < REPORTED_UTILIZATION) return undefined;
  const trailer = new Metadata();
  if (!isEmpty) trailer.set(REPLY, Buffer.from(JSON.stringify(reply)));
  if (utilization >= REPORTED_UTILIZATION) trailer.set(UTILIZATION, utilization.toFixed(2));
  return trailer;
}

/** Returns the utilization of the server's event loop that a trailer reports, from 0 to 1; 0 if it reports none. */
export function readUtilization(trailer: Metadata): number {
  const [value] = trailer.get(UTILIZATION);
  return Number(value ?? 0) || 0;
}

/** Fills a reply from a call's trailer. */
export function readReply(trailer: Metadata, reply: Reply): void {
  const [value] = trailer.get(REPLY);
  if (value !== undefined) Object.assign(reply, JSON.parse(value.toString()));
}
