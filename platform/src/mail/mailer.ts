import { newId } from '@commonplace/kit/id';
import { DEAD_INDEX, type HeldJob, type JobRecord, openQueue, type QueueSpec } from '@commonplace/kit/jobs';
import type { Log } from '@commonplace/kit/log';
import { type Envelope, type Rewrap, rewrapField, type SecretOwner } from '@commonplace/kit/secrets';
import type { CollectionSpec, Store, UnitOfWork } from '@commonplace/kit/store';
import { type Mail, writeMail } from './message.js';
import { createSmtpTransport, MailRefused, type MailTransport } from './transport.js';

/** An e-mail in the outbox. It is deleted when the mail server has accepted it. */
interface MailRecord extends JobRecord {
  /**
   * Recipient; empty for an e-mail that is only stored so that the request takes as long as for a real
   * recipient.
   */
  readonly to: string;
  /** The other fields of `Mail` as JSON; encrypted if the service has an envelope. */
  readonly content: string;
  readonly dueAt: string;
  readonly expiresAt: string;
  readonly createdAt: string;
}

const mailCollection: CollectionSpec<MailRecord> = {
  name: 'mail_outbox',
  indexes: [{ fields: ['dueAt'] }, DEAD_INDEX],
};

/** Returns the queue of the e-mails that a service sends. */
export function mailQueue(service: string): QueueSpec<MailRecord> {
  return {
    name: `${service}.mail`,
    collection: mailCollection,
    due: 'dueAt',
    // The address is personal data and is not shown.
    describe: ({ createdAt }) => `e-mail of ${createdAt}`,
  };
}

/** Sends e-mail from an outbox, so that no request waits for the mail server and no crash loses a message. */
export interface Mailer {
  /** Whether a mail server is configured. */
  readonly available: boolean;
  /** Adds an e-mail to a unit of work. Does nothing if no mail server is configured. */
  enqueue(work: UnitOfWork, mail: Mail): void;
  /** Sends all e-mails that are due, and resolves when that is done. */
  flush(): Promise<void>;
  begin(): Promise<void>;
  close(): Promise<void>;
}

interface MailerParts {
  /** Name of the service that sends. */
  readonly service: string;
  readonly store: Store;
  readonly log: Log;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string | undefined;
  readonly publicUrl: string;
  /** Encrypts the stored contents, which may include one-time links. */
  readonly envelope?: Envelope;
  /** Replaces SMTP in tests. */
  readonly transport?: MailTransport;
}

/** Re-encrypts the e-mails that a service with an envelope has not sent yet. */
export const rewrapMails: Rewrap = rewrapField({
  spec: mailCollection,
  sealedOf: ({ content }) => content,
  ownerOf: ({ id }) => ownerOf(id),
  withSealed: (mail, content) => ({ ...mail, content }),
});

function ownerOf(id: string): SecretOwner {
  return { tenant: 'mail', record: id };
}

/** Lease of a message during an attempt, in milliseconds. */
const LEASE_MS = 120_000;
const BACKOFF = { firstMs: 5_000, maxMs: 3_600_000 };
const CONCURRENCY = 20;
/** Milliseconds after which a message is dropped. */
const MAX_AGE_MS = 2 * 24 * 3_600_000;

const at = (ms: number) => new Date(ms).toISOString();

export async function openMailer(parts: MailerParts): Promise<Mailer> {
  const { service, store, log, now, smtpUrl, envelope } = parts;
  const host = new URL(parts.publicUrl).hostname;
  const available = smtpUrl !== undefined || parts.transport !== undefined;
  let transport = parts.transport;
  const connect = () => {
    transport ??= createSmtpTransport(smtpUrl as string, parts.mailFrom ?? `Commonplace <commonplace@${host}>`);
    return transport;
  };

  async function deliver(job: HeldJob<MailRecord>): Promise<void> {
    const { id, to, expiresAt, content } = job.record;
    if (to !== '' && expiresAt > at(now())) {
      const opened = envelope === undefined ? content : envelope.open(content, ownerOf(id));
      const written = writeMail(JSON.parse(opened) as Omit<Mail, 'to'>);
      await connect().send({ ...written, to, messageId: `<${id}@${host}>` });
    }
    await job.remove();
  }

  const queue = await openQueue<MailRecord>({
    ...{ store, log, now, spec: mailQueue(service), concurrency: CONCURRENCY, leaseMs: LEASE_MS, backoff: BACKOFF },
    run: deliver,
    // A message is retried until it expires or the mail server refuses it permanently.
    maxFailures: Number.POSITIVE_INFINITY,
    isFinal: (error) => error instanceof MailRefused,
    onGivenUp: (job) => job.remove(),
  });

  return {
    available,
    enqueue(work, { to, ...content }) {
      if (!available) return;
      const id = newId();
      const text = JSON.stringify(content);
      work.insert(queue.collection, {
        id,
        to,
        content: envelope === undefined ? text : envelope.seal(text, ownerOf(id)),
        dueAt: at(now()),
        expiresAt: at(now() + MAX_AGE_MS),
        createdAt: at(now()),
      });
    },
    flush: () => queue.runDue(),
    begin: async () => {
      if (available) await queue.begin();
    },
    async close() {
      await queue.close();
      transport?.close();
    },
  };
}
