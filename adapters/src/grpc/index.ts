export { openGrpcChannel } from './client.js';
export { fromGrpc, toGrpc } from './metadata.js';
export { type GrpcServer, openGrpcServer, openWaitingHealth } from './server.js';
export { type MeshTls, openTls } from './tls.js';
