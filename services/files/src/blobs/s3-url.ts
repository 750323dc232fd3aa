export interface S3Place {
  readonly endpoint: string;
  readonly bucket: string;
  /** Prefix of every key; empty, or ends in `/`. */
  readonly prefix: string;
  readonly region: string;
  /** When absent, the AWS SDK looks for credentials itself, in the environment first. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** Parses `https://[key:secret@]host[:port]/bucket[/prefix][?region=…]`. Throws when there is no bucket. */
export function parseS3Url(text: string): S3Place {
  const url = new URL(text);
  const [bucket = '', ...rest] = url.pathname.split('/').filter((part) => part !== '');
  if (!/^[a-z0-9][a-z0-9.-]{2,62}$/.test(bucket)) throw new Error('must name a bucket, as in https://host/bucket');
  const prefix = rest.length === 0 ? '' : `${rest.join('/')}/`;
  const region = url.searchParams.get('region') ?? 'us-east-1';
  const place = { endpoint: url.origin, bucket, prefix, region };
  if (url.username === '') return place;
  const [accessKeyId, secretAccessKey] = [url.username, url.password].map(decodeURIComponent) as [string, string];
  return { ...place, credentials: { accessKeyId, secretAccessKey } };
}
