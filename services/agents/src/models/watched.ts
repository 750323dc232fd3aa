import { type ChatModel, ModelFailure, ModelRefused, type ModelStatus } from './port.js';

export interface WatchedModel extends ChatModel {
  /**
   * Returns `degraded` after a failure that a retry may resolve, and `unavailable` if the provider refuses every
   * request.
   */
  status(): ModelStatus;
}

/** Wraps a model and remembers the outcome of its last call. */
export function watched(model: ChatModel): WatchedModel {
  let status: ModelStatus = 'available';
  return {
    info: model.info,
    status: () => status,
    async *generate(request, signal) {
      try {
        for await (const event of model.generate(request, signal)) {
          if (event.type !== 'end' || event.reason !== 'aborted') status = 'available';
          yield event;
        }
      } catch (error) {
        if (error instanceof ModelFailure) status = statusAfter(error);
        throw error;
      }
    },
  };
}

/** Returns the state after a failure. A model that refuses a single request is available. */
function statusAfter(failure: ModelFailure): ModelStatus {
  if (!(failure instanceof ModelRefused)) return 'degraded';
  return failure.concerns === 'endpoint' ? 'unavailable' : 'available';
}
