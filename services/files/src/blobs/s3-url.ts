export interface S3Place {
  readonly endpoint: string;
  readonly bucket: string;
  /** Of every key; empty, or ends in `/`. */
  readonly prefix: string;
  readonly region: string;
}

/** Reads `https://host[:port]/bucket[/prefix][?region=…]`. Throws where there is no bucket. */
export function parseS3Url(text: string): S3Place {
  const url = new URL(text);
  const [bucket = '', ...rest] = url.pathname.split('/').filter((part) => part !== '');
  if (!/^[a-z0-9][a-z0-9.-]{2,62}$/.test(bucket)) throw new Error('must name a bucket: https://host/bucket');
  const prefix = rest.length === 0 ? '' : `${rest.join('/')}/`;
  return { endpoint: url.origin, bucket, prefix, region: url.searchParams.get('region') ?? 'us-east-1' };
}
