import { GetObjectCommand, PutObjectCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import { type IdentifiedStore, MARK_FILE, markText, parseMark, type StoreHold } from '@commonplace/kit/installation';
import { ownerOf } from '../domain/layout.js';
import { openS3Client } from './s3-client.js';
import { parseS3Url } from './s3-url.js';

/** Object that records which of several databases with the same installation id uses the bucket. */
const HOLD_FILE = 'holder.json';

/** Names a bucket and the prefix of the keys in it. */
interface Place {
  readonly bucket: string;
  readonly prefix: string;
}

/** Opens a bucket, or a prefix of it, as a store that carries the id of its installation in an object. */
export function openS3Installation(url: string): IdentifiedStore {
  const { bucket, prefix, ...server } = parseS3Url(url);
  const client = openS3Client(server);
  const place = { bucket, prefix };
  const readId = () => readInstallation(client, place);
  return {
    kind: 'files',
    place: `the bucket ${server.endpoint}/${bucket}${prefix === '' ? '' : `/${prefix.slice(0, -1)}`}`,
    readId,
    async isEmpty() {
      for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })) {
        // Keys of other prefixes or other programs are not blobs of this installation.
        if (page.Contents?.some(({ Key = '' }) => ownerOf(Key.slice(prefix.length)) !== undefined)) return false;
      }
      return true;
    },
    async claim(id, replace = false) {
      const object = { Bucket: bucket, Key: prefix + MARK_FILE, Body: markText(id), ContentType: 'application/json' };
      await client
        .send(new PutObjectCommand({ ...object, ...(replace ? {} : { IfNoneMatch: '*' }) }))
        .catch((error) => {
          if (!isTaken(error)) throw error;
        });
      return (await readId()) ?? id;
    },
    hold: openHold(client, place),
    close: async () => client.destroy(),
  };
}

function openHold(client: S3Client, { bucket, prefix }: Place): StoreHold {
  const object = { Bucket: bucket, Key: prefix + HOLD_FILE };
  return {
    async read() {
      const found = await readIfThere(client, object);
      if (found === undefined) return undefined;
      const { token } = JSON.parse(found.text) as { token: string };
      return { token, tag: found.tag };
    },
    async write(token, before) {
      const condition = before === undefined ? { IfNoneMatch: '*' } : { IfMatch: before.tag };
      const body = JSON.stringify({ product: 'commonplace', token, written_at: new Date().toISOString() });
      try {
        await client.send(
          new PutObjectCommand({ ...object, ...condition, Body: body, ContentType: 'application/json' }),
        );
        return true;
      } catch (error) {
        // NoSuchKey: the object that was read has been deleted.
        if (isTaken(error) || (error as { name?: string }).name === 'NoSuchKey') return false;
        throw error;
      }
    },
  };
}

async function readIfThere(client: S3Client, object: { readonly Bucket: string; readonly Key: string }) {
  const found = await client.send(new GetObjectCommand(object)).catch((error) => {
    if ((error as { name?: string }).name !== 'NoSuchKey') throw error;
    return undefined;
  });
  const text = await found?.Body?.transformToString();
  return text === undefined ? undefined : { text, tag: found?.ETag ?? '' };
}

/** Returns the id of the installation that a prefix of a bucket belongs to, or undefined. */
export async function readInstallation(client: S3Client, { bucket, prefix }: Place): Promise<string | undefined> {
  const Key = prefix + MARK_FILE;
  const found = await readIfThere(client, { Bucket: bucket, Key });
  return found === undefined ? undefined : parseMark(found.text, `${bucket}/${Key}`);
}

/** Checks whether a put was refused because the object exists already or is being put concurrently. */
function isTaken(error: unknown): boolean {
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status === 412 || status === 409;
}
