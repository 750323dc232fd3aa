/** Yields the same bytes in pieces of `size` bytes; the last one may be shorter. */
export async function* gather(source: AsyncIterable<Uint8Array>, size: number): AsyncIterable<Buffer> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + size - bytes);
      held.push(piece);
      bytes += piece.length;
      at += piece.length;
      if (bytes === size) {
        yield Buffer.concat(held);
        [held, bytes] = [[], 0];
      }
    }
  }
  if (bytes > 0) yield Buffer.concat(held);
}
