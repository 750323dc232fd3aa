import { Operations } from './generated/operations.js';
import { Http } from './http.js';
import type { ClientOptions, RequestOptions } from './options.js';
import { type FileFields, type UploadOptions, uploadFile } from './upload.js';

/** A client of one server with one credential: `client.resources.list(…)`, `client.runs.stream(…)`. */
export class Commonplace extends Operations {
  readonly #http: Http;

  constructor(options: ClientOptions) {
    const http = new Http(options);
    super(http);
    this.#http = http;
  }

  /** Creates a file and uploads its bytes, in parts where it is large. Returns the file's resource. */
  upload(fields: FileFields, content: Blob | Uint8Array<ArrayBuffer> | ArrayBuffer, options?: UploadOptions) {
    return uploadFile(this.#http, this, fields, content, options);
  }

  /** Downloads a signed URL, such as a file's `download_url`. Returns the answer, whose body can be read as a stream. */
  download(url: string, options: RequestOptions = {}): Promise<Response> {
    const request = { method: 'GET', path: url, keyed: false, accept: '*/*' };
    return this.#http.send(request, options, async (response) => response);
  }
}
