export { openGrpcChannel } from './grpc-client.js';
export { type GrpcServer, openGrpcServer } from './grpc-server.js';
export { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from './idempotency.js';
export { createLocalChannel } from './local.js';
export * from './port.js';
export { requireVersion, type ServerParts, serveMethods } from './serve.js';
