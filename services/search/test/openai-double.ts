import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Fields of a request to `POST /embeddings`, by OpenAI's description of its API. */
const FIELDS = ['input', 'model', 'encoding_format', 'dimensions', 'user'];
const MAX_INPUTS = 2048;

export interface EmbeddingRequest {
  readonly input: string[];
  readonly model: string;
  readonly dimensions: number | undefined;
}

export type Answer = (response: ServerResponse, request: EmbeddingRequest) => void;

/** An embeddings endpoint on the loopback interface that accepts only what the description allows. */
export interface Double {
  readonly url: string;
  readonly requests: EmbeddingRequest[];
  /** Sets the answers to the next requests, one each; the usual answer follows. */
  next(...answers: Answer[]): void;
  close(): Promise<void>;
}

/** Opens the endpoint. `length` is the length of vectors unless a request asks for another. */
export async function openDouble({ key, length }: { key: string | undefined; length: number }): Promise<Double> {
  const requests: EmbeddingRequest[] = [];
  const answers: Answer[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (status: number, message: string) =>
      fail(status, message)(response, { input: [], model: '', dimensions: 0 });
    if (request.method !== 'POST' || request.url !== '/v1/embeddings') return refuse(404, `Unknown: ${request.url}`);
    const { authorization } = request.headers;
    if (authorization !== (key === undefined ? undefined : `Bearer ${key}`)) return refuse(401, 'Incorrect API key');
    const read = readRequest(request.headers['content-type'], await text(request));
    if (typeof read === 'string') return refuse(400, read);
    requests.push(read);
    const answer = answers.shift() ?? embed(length);
    answer(response, read);
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    next: (...given) => answers.push(...given),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Parses a request, or returns what is wrong with it. */
function readRequest(contentType: string | undefined, body: string): EmbeddingRequest | string {
  if (!contentType?.startsWith('application/json')) return 'not JSON';
  const { input, model, encoding_format: format, dimensions, ...rest } = JSON.parse(body) as Record<string, unknown>;
  const others = Object.keys(rest).filter((name) => !FIELDS.includes(name));
  if (others.length > 0) return `Unrecognized request argument supplied: ${others.join()}`;
  if (typeof model !== 'string' || model === '') return 'you must provide a model parameter';
  if (format !== undefined && format !== 'float') return 'this server knows no other encoding_format than float';
  if (!Array.isArray(input) || input.length === 0 || input.length > MAX_INPUTS) return "'$.input' is invalid";
  if (!input.every((one) => typeof one === 'string' && one.trim() !== '')) return "'$.input' is invalid";
  if (dimensions !== undefined && !(Number.isInteger(dimensions) && (dimensions as number) > 0)) return 'dimensions';
  return { input: input as string[], model, dimensions: dimensions as number | undefined };
}

/** Creates the usual answer: vectors that depend only on the texts, not normalized, in another order than requested. */
export const embed =
  (length: number): Answer =>
  (response, { input, model, dimensions = length }) => {
    const data = input
      .map((one, index) => ({ object: 'embedding', index, embedding: numbersOf(one, dimensions) }))
      .reverse();
    send(response, 200, { object: 'list', data, model, usage: { prompt_tokens: 8, total_tokens: 8 } });
  };

/** Creates an answer with this body. */
export const say =
  (body: unknown): Answer =>
  (response) =>
    send(response, 200, body);

/** Creates an error in OpenAI's format. */
export const fail =
  (status: number, message: string, headers: Record<string, string> = {}): Answer =>
  (response) =>
    send(response, status, { error: { message, type: 'error', param: null, code: `code_${status}` } }, headers);

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function numbersOf(text: string, length: number): number[] {
  let seed = [...text].reduce((sum, character) => Math.imul(sum ^ (character.codePointAt(0) as number), 16_777_619), 7);
  return Array.from({ length }, () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0;
    return seed / 2 ** 31;
  });
}
