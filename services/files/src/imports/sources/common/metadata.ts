/** Bytes of JSON that a resource's metadata may have, with some left for what the import adds. */
const MAX_BYTES = 14 * 1024;

/** Returns the metadata that fits, and the names of what was omitted. */
export function fitMetadata(given: Readonly<Record<string, unknown>>): {
  metadata: Record<string, unknown>;
  left: string[];
} {
  const metadata: Record<string, unknown> = {};
  const left: string[] = [];
  let size = 2;
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === '') continue;
    const bytes = Buffer.byteLength(JSON.stringify({ [key]: value }));
    if (size + bytes > MAX_BYTES) left.push(key);
    else {
      metadata[key] = value;
      size += bytes;
    }
  }
  return { metadata, left };
}
