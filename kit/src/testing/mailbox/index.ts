import { SMTPServer } from 'smtp-server';

/** An e-mail as the server received it. */
export interface Received {
  readonly to: string[];
  readonly source: string;
}

/** A local mail server that stores the messages it receives. */
export interface Mailbox {
  readonly url: string;
  readonly received: Received[];
  /** Answers the next messages with this SMTP status. */
  refuse(status: number, times: number): void;
  /** Waits for the next message to an address whose text matches. Returns the match. Each message is returned once. */
  next(to: string, pattern: RegExp): Promise<RegExpExecArray>;
  close(): Promise<void>;
}

const WAIT_MS = 30_000;

export async function openMailbox(): Promise<Mailbox> {
  const received: Received[] = [];
  let refusals: number[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const status = refusals.shift();
        if (status !== undefined) return done(Object.assign(new Error('refused'), { responseCode: status }));
        const to = session.envelope.rcptTo.map(({ address }) => address.toLowerCase());
        received.push({ to, source: decoded(Buffer.concat(chunks).toString('utf8')) });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as { port: number };
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    refuse(status, times) {
      refusals = Array.from({ length: times }, () => status);
    },
    async next(to, pattern) {
      for (const until = Date.now() + WAIT_MS; Date.now() < until; ) {
        for (const [at, mail] of received.entries()) {
          const found = mail.to.includes(to.toLowerCase()) ? pattern.exec(mail.source) : null;
          if (found !== null) {
            received.splice(at, 1);
            return found;
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error(`no e-mail to ${to} matches ${pattern}: ${JSON.stringify(received)}`);
    },
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** Decodes quoted-printable, so that a link is on one line. */
function decoded(source: string): string {
  return source
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
