import { AppError } from '@commonplace/kit/errors';
import type { Middleware } from 'koa';
import type { State } from '../middleware/state.js';
import type { Route } from '../routes.js';

/** The method that brings a batch. */
export const BATCH_METHOD = '/commonplace.gateway.v1.BatchService/SendBatch';

/**
 * Returns whether a batch may contain calls of an endpoint: not of itself, nor of hooks, which check the bytes of their
 * request instead of a credential.
 */
export function isBatchable({ fullMethod, scope }: Pick<Route, 'fullMethod' | 'scope'>): boolean {
  return fullMethod !== BATCH_METHOD && scope !== 'public';
}

/** Refuses a call within a batch if batches may not contain its endpoint. */
export const refuseInBatch: Middleware<State> = (ctx, next) => {
  if (ctx.state.batched === undefined) return next();
  throw new AppError('INVALID_ARGUMENT', 'not_in_batch', 'This cannot be called in a batch. Send it alone.');
};

/** Refuses calls in batches that must not begin, with the reason that the batch gives. */
export const refuseNotBegun: Middleware<State> = (ctx, next) => {
  const refusal = ctx.state.batched?.refusal;
  if (refusal !== undefined) throw refusal;
  return next();
};
