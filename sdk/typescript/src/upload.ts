import type { Operations } from './generated/operations.js';
import type { CreateFileRequest, Resource } from './generated/types.js';
import type { Http } from './http.js';
import type { RequestOptions } from './options.js';
import { sleep } from './retry.js';

export interface UploadProgress {
  readonly sentBytes: number;
  readonly totalBytes: number;
}

export interface UploadOptions extends Omit<RequestOptions, 'onResponse' | 'ifMatch'> {
  /** Called at the beginning and as bytes are sent. The number falls where a part is sent again. */
  readonly onProgress?: (progress: UploadProgress) => void;
  /** Parts that are sent at the same time. Default: 3. */
  readonly concurrency?: number;
}

export type FileFields = Omit<CreateFileRequest, 'size_bytes' | 'content_base64' | 'source_url'>;

const DEFAULT_CONCURRENCY = 3;
const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 2000;

/**
 * Creates a file and uploads its bytes: at once, or in parts where the server asks for them. A part whose connection
 * breaks is sent again, the others are not. Returns the file's resource. A `File` brings its own name.
 */
export async function uploadFile(
  http: Http,
  operations: Operations,
  fields: FileFields,
  content: Blob | Uint8Array<ArrayBuffer> | ArrayBuffer,
  options: UploadOptions = {},
): Promise<Resource> {
  const { onProgress, concurrency = DEFAULT_CONCURRENCY, ...request } = options;
  const blob = content instanceof Blob ? content : new Blob([content]);
  const name = fields.name ?? ('name' in blob ? String(blob.name) : undefined);
  const body = { ...fields, ...(name === undefined ? {} : { name }), size_bytes: blob.size };
  const { resource, upload } = await operations.files.create(body, request);
  const { idempotencyKey: _, ...others } = request;
  const finished = () => whenReady(operations, (resource as Resource).id, others);
  if (upload === null) return finished();
  const report = reporterOf(blob.size, onProgress);
  const send = async (url: string, bytes: Blob) => {
    const headers = { ...(upload.headers as Record<string, string>), ...others.headers };
    const reportPart = report();
    const part = { method: 'PUT', path: url, keyed: false, bytes, onSent: reportPart };
    // Storage of another server may answer without JSON.
    await http.send(part, { ...others, headers }, (answer) => answer.text());
    reportPart(bytes.size);
  };
  if (upload.parts === null || upload.parts === undefined) {
    await send(upload.url as string, blob);
    return finished();
  }
  const waiting = [...upload.parts];
  const sendNext = async () => {
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
      await send(part.url, blob.slice(part.offset, part.offset + part.size_bytes));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sendNext));
  return finished();
}

/** Returns a function that returns, for each part, the function which reports how many of its bytes are sent. */
function reporterOf(totalBytes: number, onProgress: UploadOptions['onProgress']) {
  let sentBytes = 0;
  onProgress?.({ sentBytes, totalBytes });
  return () => {
    let before = 0;
    return (sent: number) => {
      if (sent === before) return;
      sentBytes += sent - before;
      before = sent;
      onProgress?.({ sentBytes, totalBytes });
    };
  };
}

/** The server learns a moment later that the bytes have arrived, and assembles parts. Returns the file's resource after that. */
async function whenReady(operations: Operations, id: string, options: RequestOptions): Promise<Resource> {
  for (let delayMs = FIRST_POLL_MS; ; delayMs = Math.min(delayMs * 2, MAX_POLL_MS)) {
    const resource = await operations.resources.get(id, undefined, options);
    if (!['pending_upload', 'processing'].includes(resource.file?.status ?? '')) return resource;
    await sleep(delayMs, options.signal);
  }
}
