/** Maximum size of a request in bytes: a body of 10 MiB with its framing. */
const REQUEST_BYTES = 12 * 1024 * 1024;
/** Maximum size of an answer in bytes: a page of 200 comments or messages, each as long as allowed. */
export const ANSWER_BYTES = 32 * 1024 * 1024;
/** Maximum size of the metadata in bytes; error metadata can hold 100 faults. */
const METADATA_BYTES = 64 * 1024;

const shared = {
  'grpc.max_metadata_size': METADATA_BYTES,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
};

/**
 * Options of servers. Connections are closed after 5 minutes (± 10 % by grpc-js), so that clients find new replicas.
 */
export const serverOptions = {
  ...shared,
  'grpc.max_receive_message_length': REQUEST_BYTES,
  'grpc.max_send_message_length': ANSWER_BYTES,
  'grpc.max_connection_age_ms': 5 * 60_000,
  'grpc.max_connection_age_grace_ms': 20_000,
  'grpc.max_concurrent_streams': 1000,
  'grpc-node.max_session_memory': 64,
};

/**
 * Returns the options of a client. Idempotent methods are retried when the peer could not be reached, only at this
 * layer, and only while at most one in ten calls needs it (`maxTokens` 100).
 */
export function clientOptions(service: string, readMethods: readonly string[]) {
  const retried = readMethods.map((method) => ({ service, method }));
  const methodConfig =
    retried.length === 0
      ? []
      : [
          {
            name: retried,
            retryPolicy: {
              maxAttempts: 3,
              initialBackoff: '0.05s',
              maxBackoff: '0.5s',
              backoffMultiplier: 2,
              retryableStatusCodes: ['UNAVAILABLE'],
            },
          },
        ];
  return {
    ...shared,
    'grpc.max_receive_message_length': ANSWER_BYTES,
    'grpc.max_send_message_length': REQUEST_BYTES,
    'grpc.service_config': JSON.stringify({
      loadBalancingConfig: [{ round_robin: {} }],
      retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
      methodConfig,
    }),
    // The default is 30 seconds: longer than it takes to replace all processes of a service one after the other.
    'grpc.dns_min_time_between_resolutions_ms': 1000,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2000,
  };
}
