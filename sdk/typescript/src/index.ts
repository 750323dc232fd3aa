export { Commonplace } from './client.js';
export * from './errors.js';
export { type ServerEvent, StreamError } from './events.js';
export type * from './generated/types.js';
export type { Bytes } from './http.js';
export type { ClientOptions, RequestOptions, ResponseInfo, StreamOptions } from './options.js';
export { type PageOf, Pages } from './pages.js';
export type { FileFields, UploadOptions, UploadProgress } from './upload.js';
