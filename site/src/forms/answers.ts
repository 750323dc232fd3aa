import { boundaryOf, isFormEncoded, isMultipart, readFormData } from '@commonplace/kit/http';
import type { FormPageField } from '@commonplace/proto/resources/v1/form_page_service.js';

/** A submission in the form in which the page sends it. */
export interface Posted {
  readonly credential: string;
  readonly submissionId: string;
  readonly captchaToken: string;
  /** Minutes by which the visitor's clock is ahead of UTC at the time in a field, by field id. */
  readonly utcOffsets: ReadonlyMap<string, number>;
  /** Texts by field id, in the form in which a browser sends them. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  readonly files: ReadonlyMap<string, readonly File[]>;
}

const PREFIX = 'f.';
const OFFSET_PREFIX = 'utc_offset.';
const MAX_OFFSET_MINUTES = 14 * 60;
/** Maximum number of values of one submission, because reading each keeps others waiting for some microseconds; files take ten times as long. */
const MAX_VALUES = 10_000;
const MAX_FILES = 500;

/** Parses a submitted form in either of the encodings that browsers use. Rejects for any other, and for too many values. */
export async function readPosted(body: Buffer, contentType: string): Promise<Posted> {
  const data = isMultipart(contentType)
    ? await readFormData(contentType, body, { parts: MAX_VALUES, files: MAX_FILES })
    : await readEncoded(contentType, body);
  const texts = new Map<string, string[]>();
  const files = new Map<string, File[]>();
  const utcOffsets = new Map<string, number>();
  for (const [name, value] of data) {
    if (name.startsWith(OFFSET_PREFIX)) utcOffsets.set(name.slice(OFFSET_PREFIX.length), offsetOf(value));
    if (!name.startsWith(PREFIX)) continue;
    const id = name.slice(PREFIX.length);
    // Browsers send line breaks as CRLF, but count them as one character each.
    if (typeof value === 'string') add(texts, id, value.replaceAll('\r\n', '\n'));
    // If no file was chosen, browsers send a file without a name and content.
    else if (value.name !== '' || value.size > 0) add(files, id, value);
  }
  const text = (name: string): string => {
    const value = data.get(name);
    return typeof value === 'string' ? value : '';
  };
  return {
    credential: text('credential'),
    submissionId: text('submission_id'),
    captchaToken: text('captcha_token'),
    utcOffsets,
    texts,
    files,
  };
}

/** Returns the parts of a submission that are complete in the first bytes of its body, as a body of its own. */
export function completeParts(first: Buffer, contentType: string): Buffer {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) return first.subarray(0, Math.max(0, first.lastIndexOf('&')));
  const end = Math.max(0, first.lastIndexOf(`--${boundary}`));
  return Buffer.concat([first.subarray(0, end), Buffer.from(`--${boundary}--\r\n`)]);
}

function offsetOf(value: unknown): number {
  const minutes = Number(value);
  return Number.isInteger(minutes) && Math.abs(minutes) <= MAX_OFFSET_MINUTES ? minutes : 0;
}

async function readEncoded(contentType: string, body: Buffer): Promise<FormData> {
  if (!isFormEncoded(contentType)) throw new Error('A submission is an encoded form.');
  let values = 1;
  for (let at = body.indexOf('&'); at >= 0; at = body.indexOf('&', at + 1)) {
    if (++values > MAX_VALUES) throw new Error(`A submission has at most ${MAX_VALUES} values.`);
  }
  // Not the given header: of several types in it, the parser would take the last.
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return new Response(new Uint8Array(body), { headers }).formData();
}

function add<T>(lists: Map<string, T[]>, id: string, value: T): void {
  const list = lists.get(id);
  if (list === undefined) lists.set(id, [value]);
  else list.push(value);
}

/**
 * Converts a submission to the answers that the form accepts. Empty fields are left out, except those with a default:
 * the form would store it, although the person has emptied the field.
 */
export async function valuesOf(fields: readonly FormPageField[], posted: Posted): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const field of fields) {
    const value = await answerTo(field, posted);
    if (value !== undefined) values[field.id] = value;
    else if (field.default.length > 0 && field.type !== 'hidden') values[field.id] = null;
  }
  // Values for fields that the form no longer has are passed on, so that the form refuses them.
  for (const [id, [text]] of posted.texts) {
    if (text !== '' && !fields.some((field) => field.id === id)) values[id] = text;
  }
  return values;
}

async function answerTo({ id, type, maxFiles, isFile }: FormPageField, posted: Posted): Promise<unknown> {
  if (type === 'file') {
    const files = await Promise.all((posted.files.get(id) ?? []).map(fileOf));
    return files.length === 0 ? undefined : maxFiles === 1 && files.length === 1 ? files[0] : files;
  }
  const texts = (posted.texts.get(id) ?? []).filter((text) => text !== '');
  if (type === 'multi_choice') return texts.length === 0 ? undefined : texts;
  const [text] = texts;
  if (type === 'signature' && isFile && text !== undefined) return signatureOf(text);
  return type === 'datetime' && text !== undefined ? momentOf(text, posted.utcOffsets.get(id) ?? 0) : text;
}

/** Wraps a typed name in a file, because the column of a signature may require one. */
const signatureOf = (name: string) => ({
  name: 'signature.txt',
  content_base64: Buffer.from(`${name}\n`).toString('base64'),
});

async function fileOf(file: File): Promise<{ name: string; content_base64: string }> {
  return { name: file.name, content_base64: Buffer.from(await file.arrayBuffer()).toString('base64') };
}

/**
 * Converts a visitor's local time such as `2026-05-01T09:30` to UTC. Any other text is returned unchanged, so that the
 * form refuses it.
 */
function momentOf(text: string, utcOffset: number): string {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  return Number.isNaN(time) ? text : new Date(time - utcOffset * 60_000).toISOString();
}
