/**
 * Does a piece of work for a client without a credential when it is the turn of the client's network, so that one network
 * does not delay the requests of others. `bytesOf` returns the number of bytes that the client gets. Rejects with
 * `concurrency_limited` if too much work of the network is waiting. If `ctx` has a response, work that waited is cancelled
 * when its client has left meanwhile.
 */
export type ShareWork = <T>(
  ctx: { readonly state: unknown; readonly res?: { readonly destroyed: boolean } },
  work: () => Promise<T>,
  bytesOf: (result: T) => number,
) => Promise<T>;
