/** A server-sent event whose data is JSON. */
export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns a reader of the events in an answer, one after another. Comments and `retry` are skipped. */
export function eventsOf(response: Response): { next(): Promise<ServerSentEvent | undefined> } {
  const type = response.headers.get('content-type') ?? '';
  if (response.body === null || !type.startsWith('text/event-stream'))
    throw new Error(`expected text/event-stream, got ${type}`);
  const chunks = response.body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let text = '';
  const nextBlock = async (): Promise<string | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        return block;
      }
      const { done, value } = await chunks.next();
      if (done) return undefined;
      text += value;
    }
  };
  return {
    async next() {
      for (let block = await nextBlock(); block !== undefined; block = await nextBlock()) {
        const fields = new Map(block.split('\n').map((line) => split(line)));
        const data = fields.get('data');
        if (data !== undefined) return { id: fields.get('id'), event: fields.get('event'), data: JSON.parse(data) };
      }
      return undefined;
    },
  };
}

function split(line: string): [string, string] {
  const at = line.indexOf(': ');
  return [line.slice(0, at), line.slice(at + 2)];
}
